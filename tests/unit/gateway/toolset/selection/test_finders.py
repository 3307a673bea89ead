"""What an op needs first: on the shipped catalog with three connected services."""

import pytest
from django.apps import apps

from benchmarks.selection import build_labelled_catalog
from gateway.access.request_context import UserContext
from gateway.toolset.conversation import ToolsetConversation
from gateway.toolset.selection import candidates, finders, heuristics, selector
from gateway.toolset.shown_tools import ToolsetRequest
from gateway.toolset.surfaces import legacy
from registry.catalog.model import FULL_VISIBILITY, Catalog

if not apps.is_installed("workspace"):
    pytest.skip("by design: selects among the workspace's ops", allow_module_level=True)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return build_labelled_catalog(("shop", "stickies", "registry"))


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("create_order", ["list_customers", "list_products"]),  # product_id is in a list of lines
        ("list_orders", ["list_customers"]),  # an optional id of a service
        ("cancel_order", ["list_orders"]),
        ("update_calendar_event", ["list_calendar_events"]),  # the search of everything has no events
        ("update_onto_task", ["search_ontology"]),
        ("move_onto_task", ["search_ontology"]),  # one search for both ids
        ("get_entity_history", ["search_ontology"]),
        ("link_onto_entities", ["search_ontology"]),  # none of its ids is required
        ("list_onto_tasks", []),
        ("search_ontology", []),
    ],
)
def test_finders_of_an_op(catalog: Catalog, name: str, needed: list[str]) -> None:
    op = catalog.find_op(name)
    assert op is not None

    assert [each.tool_name for each in finders.list_finders(op, catalog)] == needed


def test_known_ids_need_no_finder(catalog: Catalog) -> None:
    op = catalog.find_op("update_onto_task")
    assert op is not None

    assert finders.list_finders(op, catalog, known={"task"}) == []


def select(catalog: Catalog, message: str, *recent_tools: str) -> list[str]:
    conversation = ToolsetConversation(message, recent_tools=recent_tools)
    request = ToolsetRequest(FULL_VISIBILITY, UserContext("global"), conversation=conversation)
    pool = candidates.list_candidates(catalog, request)
    plan = heuristics.plan_selection(request, pool, catalog)
    return [op.tool_name for op in selector.compose_selection(plan, pool, catalog, request, max_tokens=6_000).ops]


def test_order_of_a_service_comes_with_what_finds_its_ids(catalog: Catalog) -> None:
    assert {"create_order", "list_customers", "list_products"} <= set(
        select(catalog, "Order two desk lamps for Ana Ruiz")
    )


def test_own_rows_win_against_those_of_a_service_that_is_not_named(catalog: Catalog) -> None:
    own = select(catalog, "Delete the project Roof garden")
    named = select(catalog, "Delete the project Roof garden from the registry")

    assert "delete_onto_project" in own
    assert "projects_delete" not in own
    assert "projects_delete" in named


def test_service_called_lately_stays_in_reach(catalog: Catalog) -> None:
    shown = select(catalog, "Make it three lamps instead", "create_order")

    assert {"create_order", "cancel_order"} <= set(shown)


def test_tools_name_their_service_where_several_are_connected(catalog: Catalog) -> None:
    ops = [op for op in (catalog.find_op("cancel_order"), catalog.find_op("list_onto_tasks")) if op is not None]

    of_shop, own = legacy.show_ops(catalog, ops).tools

    assert of_shop.description.startswith("shop: ")
    assert not own.description.startswith("workspace")


def test_delete_offers_no_deletes_of_other_kinds_of_rows(catalog: Catalog) -> None:
    shown = select(catalog, "Delete the risk about rain")

    assert [name for name in shown if name.startswith("delete_")] == ["delete_onto_risk"]


def test_change_can_be_undone_in_the_next_turn(catalog: Catalog) -> None:
    assert {"undo_onto_writes", "update_calendar_event", "search_ontology"} <= set(
        select(catalog, "Cancel that booking again", "create_calendar_event")
    )
    assert "undo_onto_writes" in select(catalog, "undo that", "update_onto_task")
