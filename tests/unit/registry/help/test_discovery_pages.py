"""Discovery of the ops of connected services, which have no discovery name of their own."""

from typing import Any

import orjson
import pytest

from registry.catalog.model import FULL_VISIBILITY, Catalog
from registry.help import discovery_pages, help_pages
from registry.help.discovery_pages import MAX_LISTED, OTHER_DOMAIN, DiscoveryQuery
from registry.help.help_pages import HelpQuery
from tests.support.rows.op_entries import build_catalog, build_op_entry, build_schema

LINE = {"type": "object", "required": ["product"], "properties": {"product": {"type": "string"}}}
SHOP = [
    build_op_entry(
        "shop.order.create",
        tool_name="create_order",
        kind="write",
        connection="shop",
        summary="Order products for a customer",
        parameters_schema=build_schema(lines={"type": "array", "items": LINE}, note={"type": "string"}),
    ),
    build_op_entry("shop.product.list", tool_name="list_products", connection="shop", summary="List products"),
    build_op_entry("x.registry.help", tool_name="registry_help", connection="utilities", summary="Read help"),
]
DESK = [build_op_entry(f"desk.ticket{i}.get", tool_name=f"get_ticket_{i}", connection="acme desk") for i in range(60)]


def discover(catalog: Catalog, **query: Any) -> dict[str, Any]:
    answer = discovery_pages.answer_query(catalog, DiscoveryQuery(OTHER_DOMAIN.name, **query), FULL_VISIBILITY)
    body: dict[str, Any] = orjson.loads(answer.body)
    return body


def test_ops_without_a_domain_are_listed_searched_and_described() -> None:
    catalog = build_catalog(*SHOP)

    assert [domain.summary for domain in discovery_pages.list_domains(catalog, FULL_VISIBILITY)] == [
        "Tools of connected services: shop. A query searches them"
    ]
    assert [tool["name"] for tool in discover(catalog)["tools"]] == ["create_order", "list_products"]
    found = discover(catalog, query="order two desk lamps")
    assert found["tools"][0] == {
        "name": "create_order",
        "summary": "Order products for a customer",
        "parameters": {"lines": "[{product: string}]", "note": "string"},
    }
    assert discover(catalog, tool="create_order")["types"] == {"lines": "list of {product}"}


def test_long_lists_are_cut_and_say_so() -> None:
    listed = discover(build_catalog(*SHOP, *DESK))

    assert len(listed["tools"]) == MAX_LISTED
    assert listed["message"] == "50 of 62 tools. Send query to search them all."


@pytest.mark.parametrize(("entries", "services"), [(SHOP, [None]), ([*SHOP, *DESK], ["acme desk"])])
def test_hit_names_its_service_where_several_are_connected(entries: list[Any], services: list[str | None]) -> None:
    catalog = build_catalog(*entries)
    word = "ticket 7" if len(entries) > len(SHOP) else "products"

    body = orjson.loads(help_pages.answer_query(catalog, HelpQuery(query=word)).body)
    assert [item.get("service") for item in body["items"][:1]] == services
    assert discover(catalog, query=word)["tools"][0].get("service") == services[0]
    by_shop = orjson.loads(help_pages.answer_query(catalog, HelpQuery(query="list products")).body)["items"][0]
    assert "service" not in by_shop  # its path says it
