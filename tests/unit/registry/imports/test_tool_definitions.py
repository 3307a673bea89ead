"""Definitions of tools, as approved and as last seen: a changed one waits for approval, whatever changed about it."""

from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from registry.catalog import builder, connections, model
from registry.imports import definitions, import_document, mcp_import
from registry.imports.import_document import Selection
from registry.imports.mcp_import import McpListing, ReadServer, digest_tool
from registry.models import Connection, Op, UpstreamDefinition
from tests.support.upstreams.mcp_listing import URL, build_tool

pytestmark = pytest.mark.django_db

NAME, PATH = "get_note", "notes.note.get"
HELD = "its definition changed upstream, and the change is not approved"
TOOL = build_tool(
    NAME,
    "Get one note.",
    title="Note",
    outputSchema={"type": "object", "properties": {"text": {"type": "string"}}},
    annotations={"readOnlyHint": True},
)
OTHER = build_tool("list_notes", "List all notes.")

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=20),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=8), values, max_size=3),
    max_leaves=8,
)
schemas = st.dictionaries(st.sampled_from(["id", "text", "limit"]), st.just({"type": "string"})).map(
    lambda properties: {"type": "object", "properties": properties}
)
mutations = st.one_of(
    st.fixed_dictionaries({"description": st.text(max_size=40)}),
    st.fixed_dictionaries({"title": st.text(max_size=20) | st.none()}),
    st.fixed_dictionaries({"inputSchema": schemas | json_values}),
    st.fixed_dictionaries({"outputSchema": schemas | json_values}),
    st.fixed_dictionaries(
        {
            "annotations": st.none()
            | st.dictionaries(st.sampled_from(["readOnlyHint", "destructiveHint", "title"]), st.booleans() | st.text())
        }
    ),
    st.fixed_dictionaries({"name": st.just("get_notes")}),  # gone, with a new one in its place
)


def read_server(*tools: dict[str, Any]) -> ReadServer:
    # As they are stored and read again.
    return ReadServer.from_bytes(ReadServer(McpListing("Notes", "1", list(tools))).to_bytes())


def import_tools(*tools: dict[str, Any], selection: Selection | None = None) -> Connection:
    connection = Connection.objects.filter(name="notes").first() or mcp_import.build_connection(URL)
    connection.name = "notes"
    connection.save()
    import_document.import_document(
        read_server(*tools), selection or Selection(), group="notes", connection=connection, by="ana", at=timezone.now()
    )
    return connection


def see(connection: Connection, *tools: dict[str, Any]) -> definitions.SeenChanges:
    ops = read_server(*tools).pick(Selection(), "notes").ops
    return definitions.record_seen(connection, ops, at=timezone.now())


def approve(connection: Connection, *names: str) -> None:
    definitions.approve_changes(connection, names or (NAME,), at=timezone.now())


def build_catalog() -> model.Catalog:
    """Return a release of what was imported. It stays live while definitions change."""
    op = {**Op.objects.get(op=PATH).shipped, "op": PATH}
    groups = [{"path": "notes", "summary": "Notes"}, {"path": "notes.note", "summary": "Notes"}]
    return builder.build_catalog("", {"format": 1, "groups": groups, "ops": [op]})


def explain(catalog: model.Catalog) -> str:
    """Return why the op is neither shown nor callable; empty if it is both. Fails if only one is true."""
    connections.clear_connections()
    current = connections.get_connections()
    missing = current.explain_missing(catalog.ops[PATH].target)
    visibility = model.FULL_VISIBILITY.limit_to_available(model.ALL_ON, current)
    assert (PATH in catalog.view_for(visibility).ops) is not bool(missing)
    return missing


def test_only_an_imported_tool_is_shown_with_the_digest_that_calls_are_compared_with() -> None:
    import_tools(TOOL)
    catalog = build_catalog()

    assert explain(catalog) == ""
    assert UpstreamDefinition.objects.get().approved_digest == digest_tool(TOOL)
    UpstreamDefinition.objects.update(approved_digest="")
    assert explain(catalog) == "no definition of its tool is approved: import it from its server"


@given(mutations)
@settings(max_examples=60)
def test_a_changed_tool_is_neither_shown_nor_callable_before_it_is_approved(mutation: dict[str, Any]) -> None:
    changed = TOOL | mutation
    assume(digest_tool(changed) != digest_tool(TOOL))
    with transaction.atomic():
        connection = import_tools(TOOL)
        catalog = build_catalog()

        see(connection, changed)
        assert explain(catalog) == HELD

        approve(connection)
        row = connection.definitions.filter(upstream_name=NAME).first()
        if row is None:  # it is gone, or can no longer be imported
            assert explain(catalog) == "no definition of its tool is approved: import it from its server"
            assert Op.objects.get(op=PATH).status == "retired"
        else:
            assert explain(catalog) == ""
            assert row.approved_digest == digest_tool(changed)
        transaction.set_rollback(True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("description", "Get a note."),
        ("inputSchema", {"type": "object"}),
        ("annotations", {"readOnlyHint": True, "openWorldHint": True}),
    ],
)
def test_definitions_before_and_after_a_change_are_kept_until_it_is_approved(name: str, value: Any) -> None:
    connection = import_tools(TOOL)

    changes = see(connection, TOOL | {name: value})

    assert changes == definitions.SeenChanges(changed=1, gone=0, new=0)
    (row,) = definitions.list_changed(connection)
    assert (row.approved_definition[name], row.seen_definition[name]) == (TOOL[name], value)
    approve(connection)
    row.refresh_from_db()
    assert (row.approved_definition[name], row.seen_definition, row.seen) == (value, None, None)
    assert definitions.list_changed(connection) == []


def test_a_change_that_is_taken_back_waits_for_nobody() -> None:
    connection = import_tools(TOOL)
    see(connection, TOOL | {"title": "Other"})

    see(connection, TOOL)

    assert definitions.list_changed(connection) == []
    assert UpstreamDefinition.objects.get().seen_definition is None


def test_importing_again_approves_and_keeps_edits() -> None:
    connection = import_tools(TOOL)
    Op.objects.update(summary="Mine")
    changed = TOOL | {"description": "Get any note.", "inputSchema": {"type": "object"}}
    see(connection, changed)

    import_tools(changed)

    op = Op.objects.get(op=PATH)
    assert (op.summary, op.description, op.parameters_schema) == ("Mine", "", {"type": "object"})
    assert definitions.list_changed(connection) == []
    assert UpstreamDefinition.objects.get().approved_digest == digest_tool(changed)


def test_approved_change_keeps_edits_and_says_that_the_tool_writes_now() -> None:
    connection = import_tools(TOOL)
    Op.objects.update(summary="Mine")
    see(
        connection,
        TOOL | {"annotations": {"readOnlyHint": False, "destructiveHint": True}, "description": "Take the note."},
    )

    approve(connection)

    op = Op.objects.get(op=PATH)
    assert (op.summary, op.description, op.kind, op.confirm) == ("Mine", "", "write", True)


def test_a_tool_that_becomes_destructive_asks_first_unless_an_admin_switched_that_off() -> None:
    import_tools(TOOL)
    destructive = TOOL | {"annotations": {"destructiveHint": True, "readOnlyHint": False}}
    import_tools(destructive)
    assert Op.objects.get(op=PATH).confirm is True

    Op.objects.update(confirm=False)
    import_tools(destructive | {"description": "Take a note."})

    assert Op.objects.get(op=PATH).confirm is False


def test_new_tools_are_told_and_not_imported() -> None:
    connection = import_tools(TOOL)

    assert see(connection, TOOL, OTHER) == definitions.SeenChanges(changed=0, gone=0, new=1)

    assert [row.upstream_name for row in definitions.list_new(connection)] == ["list_notes"]
    assert definitions.list_changed(connection) == []
    assert Op.objects.count() == 1
    assert connections.refresh_connections().held == frozenset()
    see(connection, TOOL)
    assert definitions.list_new(connection) == []
    see(connection, TOOL, OTHER)
    import_tools(TOOL, OTHER)
    assert definitions.list_new(connection) == []
    assert see(connection, TOOL, OTHER) == definitions.SeenChanges(changed=0, gone=0, new=0)


def test_the_digest_of_a_server_does_not_depend_on_the_order_of_its_tools() -> None:
    assert read_server(TOOL, OTHER).compute_digest() == read_server(OTHER, TOOL).compute_digest()
    assert read_server(TOOL).compute_digest() != read_server(TOOL | {"title": ""}).compute_digest()
