"""Help within a token budget omits the least useful parts first, never required arguments, and says what is missing."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.text import token_budget
from registry.catalog.model import Catalog
from registry.help import fitted_help, help_pages
from registry.help.help_pages import HelpQuery
from tests.support.cpu_budget import examples
from tests.support.rows.op_entries import build_catalog, build_op_entry, build_schema

WIDE = build_op_entry(
    "onto.task.add",
    kind="write",
    summary="Add a task to a project",
    description="Adds one task to an existing project. Does not create the project; onto.project.create does.",
    notes="Priority 1 is the most urgent.",
    parameters_schema=build_schema(
        ("project_id", "state"),
        project_id={"type": "string", "format": "uuid", "description": "Its project"},
        state={"type": "string", "enum": ["todo", "done"], "description": "Where it stands"},
        parts={"type": "array", "items": {"type": "object", "properties": {"title": {}, "due_at": {}}}},
        **{f"option_{n}": {"type": "string", "description": "Some option"} for n in range(6)},
        q={"description": "Short"},
    ),
    policy={"do": ["Search first."], "dont": ["Never invent ids."], "edge_cases": ["A full project is refused."]},
    examples=[{"title": "One", "args": {"project_id": "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01", "state": "todo"}}],
)
PLAIN = build_op_entry("onto.task.ping", summary="Ping")
REQUIRED = {"project_id", "state"}
FORMS = [
    {"format": form, "include_examples": examples, "include_schemas": schemas}
    for form in ("short", "full")
    for examples in (None, True)
    for schemas in (False, True)
]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    many = [
        build_op_entry(
            f"many.operation_with_quite_a_long_name_{n:03}", summary=f"Operation number {n} of a large group"
        )
        for n in range(120)
    ]
    return build_catalog(WIDE, PLAIN, *many)


def query_help(catalog: Catalog, **query: Any) -> tuple[dict[str, Any], int]:
    body = help_pages.answer_query(catalog, HelpQuery(**query)).body
    loaded = orjson.loads(body)
    return loaded, token_budget.count_json(loaded)


def argument_names(body: dict[str, Any]) -> list[str]:
    return list(body["args"]) if isinstance(body["args"], dict) else [arg["name"] for arg in body["args"]]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("path", ["onto.task.add", "onto.task.ping"])
@given(max_tokens=st.integers(1, 700))
@settings(max_examples=examples(40))
def test_op_within_a_budget_keeps_required_arguments_and_names_omitted_ones(
    catalog: Catalog, path: str, form: dict[str, Any], max_tokens: int
) -> None:
    whole, _ = query_help(catalog, path=path, **form)
    smallest, least = query_help(catalog, path=path, max_tokens=1, **form)

    body, size = query_help(catalog, path=path, max_tokens=max_tokens, **form)

    assert size <= max_tokens or (body == smallest and size == least)
    required = REQUIRED if path == "onto.task.add" else set()
    assert required <= set(argument_names(body))
    parts = set(whole) - set(body)
    arguments = {f"args.{name}" for name in set(argument_names(whole)) - set(argument_names(body))}
    omitted = body.get("omitted", [])
    assert parts | arguments <= set(omitted)
    assert set(omitted) <= parts | arguments | {"args.*.description"}
    assert (body["path"], body["type"], body["kind"]) == (path, "op", whole["kind"])


@pytest.mark.parametrize("form", FORMS)
def test_larger_budget_never_omits_more(catalog: Catalog, form: dict[str, Any]) -> None:
    sizes = [
        query_help(catalog, path="onto.task.add", max_tokens=max_tokens, **form)[1] for max_tokens in range(1, 700, 3)
    ]

    assert sizes == sorted(sizes)
    assert sizes[-1] == query_help(catalog, path="onto.task.add", **form)[1]


def test_least_useful_parts_are_omitted_first(catalog: Catalog) -> None:
    gone: list[str] = []
    for max_tokens in range(700, 0, -1):
        body, _ = query_help(catalog, path="onto.task.add", format="full", include_schemas=True, max_tokens=max_tokens)
        gone += [part for part in body.get("omitted", []) if part not in gone]

    options = [f"args.{name}" for name in ("q", *(f"option_{n}" for n in range(5, -1, -1)), "parts")]
    order = ["examples", "schema", *options, *fitted_help.PROSE_FIELDS, "args.*.description"]
    assert gone == [part for part in order if part in gone]
    assert gone[:2] == ["examples", "schema"]


def test_nested_arguments_are_folded_first_and_a_required_enum_keeps_its_values(catalog: Catalog) -> None:
    whole, size = query_help(catalog, path="onto.task.add")
    folded, _ = query_help(catalog, path="onto.task.add", max_tokens=size - 1)
    full, _ = query_help(catalog, path="onto.task.add", format="full", max_tokens=1)
    short, _ = query_help(catalog, path="onto.task.add", max_tokens=1)

    assert whole["args"]["parts"] == "[{title?: any, due_at?: any}]"
    assert folded["args"]["parts"] == "list"
    assert "omitted" not in folded
    assert full["args"] == [
        {"name": "project_id", "type": "uuid", "required": True},
        {"name": "state", "type": "string", "required": True, "enum": ["todo", "done"]},
    ]
    assert short["args"] == {"project_id": "uuid, required", "state": "todo|done, required"}


@given(max_tokens=st.integers(1, 4_000))
@settings(max_examples=examples(60))
def test_group_within_a_budget_has_a_cursor(catalog: Catalog, max_tokens: int) -> None:
    body, size = query_help(catalog, path="many", max_tokens=max_tokens)

    assert size <= max_tokens or len(body["items"]) == 1
    assert body["items"]
    following, _ = query_help(catalog, path="many", cursor=body["next_cursor"])
    assert following["items"][0]["path"] == f"many.operation_with_quite_a_long_name_{len(body['items']):03}"


@given(max_tokens=st.integers(1, 400))
@settings(max_examples=examples(40))
def test_search_fits_its_budget(catalog: Catalog, max_tokens: int) -> None:
    body, size = query_help(catalog, query="operation number group", limit=30, max_tokens=max_tokens)

    assert size <= max_tokens or len(body["items"]) == 1
    assert body["items"]
