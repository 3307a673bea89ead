"""The entry that an import makes from a function."""

from typing import Any

import pytest

from registry.imports import functions, op_paths, run_import
from registry.imports.danger import Danger
from registry.imports.import_source import SourceOp
from registry.imports.openai import FunctionDefinition
from registry.text.tool_name_words import NumberedNames
from tests.support.growth import assert_linear

SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}


def entry(name: str, description: str = "", tool_name: str | None = None, **schema: Any) -> dict[str, Any]:
    function = FunctionDefinition(name, description, {})
    reading = op_paths.parse_tool_names([function], "crm")[name]
    op = SourceOp(name, reading, name, functions.build_fields(function, reading, SCHEMA | schema, Danger.NONE))
    return run_import.build_op_entry(op, path="crm.a.b", tool_name=tool_name or name)


def test_entry_takes_its_texts_from_name_and_description() -> None:
    assert entry("fetch_open_deals", "Fetches open deals. Newest first.") == {
        "op": "crm.a.b",
        "tool_name": "fetch_open_deals",
        "kind": "read",
        "entity": "open_deal",
        "action": "get",
        "summary": "Fetches open deals",
        "description": "Fetches open deals. Newest first.",
        "needs_subject": True,
        "parameters_schema": SCHEMA,
    }


@pytest.mark.parametrize(
    ("description", "summary"), [("Delete a deal.", "Delete a deal"), ("\u3164\u200d", "Delete deal")]
)
def test_description_that_says_no_more_than_its_summary_is_left_out(description: str, summary: str) -> None:
    written = entry("delete_deal", description)

    assert written["summary"] == summary
    assert "description" not in written


def test_renamed_tool_keeps_its_upstream_name() -> None:
    renamed = entry("PDF&URL", tool_name="PDF_URL")

    assert (renamed["tool_name"], renamed["upstream_name"], renamed["keywords"]) == ("PDF_URL", "PDF&URL", ["PDF&URL"])


@pytest.mark.parametrize(
    ("schema", "notes"),
    [
        ({"anyOf": [{"required": ["id"]}, {"required": ["name", "city"]}]}, "Send id or city with name."),
        ({"oneOf": [{"$ref": "#/$defs/a"}, {"required": ["b"]}], "$defs": {"a": {"required": ["a"]}}}, "Send a or b."),
        ({"anyOf": [{"required": ["id"]}, {}]}, None),
        ({"anyOf": [{"required": ["id"]}]}, None),
    ],
)
def test_notes_list_alternative_arguments(schema: dict[str, Any], notes: str | None) -> None:
    assert entry("a", **schema).get("notes") == notes


@pytest.mark.parametrize(
    ("name", "names_in_use", "expected"),
    [
        ("get_user", set(), "get_user"),
        ("get_user", {"get_user"}, "sales_crm_get_user"),
        ("get_user", {"get_user", "sales_crm_get_user"}, "sales_crm_get_user_2"),
        ("get_user", {"get_user", "sales_crm_get_user", "sales_crm_get_user_2"}, "sales_crm_get_user_3"),
        ("a b&c", set(), "a_b_c"),
        ("天气", set(), "tian_qi"),
        ("***", set(), "tool"),
        ("n" * 200, set(), "n" * 64),
        (
            "get_the_orders_of_all_customers_of_a_region_that_were_not_delivered_yet",
            set(),
            "get_the_orders_of_all_customers_of_a_region_that_were_not",
        ),
        ("n" * 64, {"n" * 64}, f"sales_crm_{'n' * 54}"),
    ],
)
def test_tool_name_is_valid_for_providers(name: str, names_in_use: set[str], expected: str) -> None:
    chosen = run_import.choose_tool_name(
        name, "sales.crm", lambda each: each not in names_in_use, lambda _: False, NumberedNames()
    )

    assert chosen == expected


def test_tool_names_that_are_the_same_once_cleaned_take_linear_time() -> None:
    def choose_names(names: list[str]) -> None:
        taken, numbered = set[str](), NumberedNames()
        for name in names:
            taken.add(
                run_import.choose_tool_name(name, "crm", lambda each: each not in taken, lambda _: False, numbered)
            )

    assert_linear(choose_names, lambda size: [f"get{chr(0x4E00 + at)}" for at in range(size)], size=5_000)


def test_group_summary_names_its_contents() -> None:
    names = [f"deal{n}" for n in range(8)]

    assert op_paths.summarise_group({"add": "Add it", "get": "Get it", "list": "List all"}) == "list, get, add"
    assert op_paths.summarise_group({"get": "Get a deal"}) == "get: Get a deal"
    assert op_paths.summarise_group({"deal": ""}) == "deal"
    assert op_paths.summarise_group(dict.fromkeys(names, "")) == "deal0, deal1, deal2, deal3, …"
