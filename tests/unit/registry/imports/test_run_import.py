"""Importing lists into the draft: new functions are added, edits stay, and missing functions are retired."""

from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from registry.catalog import cache, model
from registry.drafts import bulk_writes
from registry.files import loader
from registry.imports import document_source, run_import
from registry.imports.run_import import InvalidImportGroup
from registry.models import Connection, Example, Group, Op, OpAlias
from registry.releases import publishing
from registry.snapshot import snapshot
from tests.support.rows.copy_rows import make_op
from tests.support.rows.op_entries import build_content, build_op_entry
from tests.support.upstreams import any_upstream
from tests.support.upstreams.openapi_documents import build_document, parse
from tests.support.upstreams.tool_functions import build_function, import_functions

pytestmark = pytest.mark.django_db

GET = build_function("get_contact", "Get one contact.", properties={"id": {"type": "string"}}, required=["id"])
LIST = build_function("list_contacts", "List contacts.")


def get_stored_entry(path: str) -> dict[str, Any]:
    return snapshot.op_to_entry(Op.objects.get(op=path))


def import_paths(paths: dict[str, Any]) -> run_import.ImportResult:
    document = parse(build_document({path: with_id(path, item) for path, item in paths.items()}))
    return run_import.import_ops(document_source.build_source(document, whole=document), group="crm")


def with_id(path: str, item: dict[str, Any]) -> dict[str, Any]:
    parameters = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    return {method: {"parameters": parameters if "{id}" in path else []} | each for method, each in item.items()}


def publish() -> model.Catalog:
    Group.objects.get_or_create(path="root", defaults={"summary": "All"})
    any_upstream.connect_ops()
    release = publishing.publish_draft(note="Test", by="tests", at=timezone.now(), accepted="Strangers' copy")
    return cache.get_catalog(release.version)


def test_import_creates_publishable_ops_and_groups() -> None:
    done = import_functions(GET, LIST)

    assert done.upstream_names == {"crm.contact.get": "get_contact", "crm.contact.list": "list_contacts"}
    assert dict(Group.objects.values_list("path", "summary")) == {"crm": "contact", "crm.contact": "list, get"}
    assert get_stored_entry("crm.contact.get")["parameters_schema"] == GET["function"]["parameters"]
    assert set(Op.objects.values_list("source", "connection")) == {("crm", None)}
    catalog = publish()
    assert catalog.find_op("get_contact") is catalog.ops["crm.contact.get"]


def test_second_import_changes_nothing() -> None:
    import_functions(GET, LIST)
    times = list(Op.objects.values_list("op", "updated_at"))
    version = publishing.compute_draft_version()

    done = import_functions(LIST, GET)

    assert (done.merged.added, done.merged.updated, done.retired) == ([], [], [])
    assert list(Op.objects.values_list("op", "updated_at")) == times
    assert publishing.compute_draft_version() == version


def test_import_keeps_edits_and_updates_the_rest() -> None:
    import_functions(GET, LIST)
    Op.objects.filter(op="crm.contact.get").update(summary="Mine", connection=Connection.objects.create(name="crm"))
    Example.objects.create(op=Op.objects.get(op="crm.contact.get"), args={"id": "1"})
    newer = build_function("get_contact", "Fetch a person.", properties={"id": {}, "deep": {}}, required=["id"])

    done = import_functions(newer, LIST)

    after = get_stored_entry("crm.contact.get")
    assert done.merged.kept_edits == ["crm.contact.get summary"]
    assert (after["summary"], after["connection"], after["examples"]) == ("Mine", "crm", [{"args": {"id": "1"}}])
    assert set(after["parameters_schema"]["properties"]) == {"id", "deep"}


def test_import_keeps_an_edited_path_and_tool_name() -> None:
    import_functions(GET, LIST)
    Group.objects.create(path="people", summary="People")
    Op.objects.filter(op="crm.contact.get").update(op="people.get", tool_name="get_person")

    done = import_functions(GET, build_function("list_contacts", "List all contacts."))

    assert [path for path in done.merged.updated if path in done.upstream_names] == ["crm.contact.list"]
    assert done.upstream_names["people.get"] == "get_contact"
    assert get_stored_entry("people.get")["tool_name"] == "get_person"
    assert Op.objects.count() == 2


def test_import_retires_a_missing_function_and_restores_it_later() -> None:
    import_functions(GET, LIST)

    gone = import_functions(LIST)
    again = import_functions(LIST)
    back = import_functions(GET, LIST)

    assert (gone.retired, again.retired, again.merged.updated) == (["crm.contact.get"], [], [])
    assert [path for path in back.merged.updated if path in back.upstream_names] == ["crm.contact.get"]
    assert Op.objects.get(op="crm.contact.get").status == "active"
    Op.objects.filter(op="crm.contact.get").update(status="retired")  # by an admin
    import_functions(build_function("get_contact", "Newer."), LIST)
    assert Op.objects.get(op="crm.contact.get").status == "retired"


def test_import_keeps_the_op_of_a_function_that_became_invalid() -> None:
    import_functions(GET, LIST)

    done = import_functions(build_function("get_contact", "Evil", properties={"a": {"$ref": "https://acme.com"}}), LIST)

    assert [refusal.name for refusal in done.refusals] == ["get_contact"]
    assert done.retired == []
    assert get_stored_entry("crm.contact.get")["summary"] == "Get one contact"


def test_new_name_is_said_once() -> None:
    make_op("onto.contact.get", tool_name="get_contact")

    first, again = import_functions(GET), import_functions(GET)

    assert dict(first.remarks) == {run_import.PREFIXED: ["get_contact"]}
    assert dict(again.remarks) == {}
    assert Op.objects.get(op="crm.contact.get").tool_name == "crm_get_contact"


def test_long_name_is_shortened_and_kept_for_search() -> None:
    name = "get_the_orders_of_all_customers_of_a_region_that_were_not_delivered_yet"
    first = import_functions(build_function(name), group="crm")
    [op] = Op.objects.filter(upstream_name=name)

    again = import_functions(build_function(name), group="crm")

    assert (len(op.tool_name) <= 64, name.startswith(op.tool_name), op.keywords) == (True, True, [name])
    assert dict(first.remarks) == {run_import.RENAMED: [name]}
    assert dict(again.remarks) == {}
    assert str(again.merged).startswith("0 added, 0 updated")


def test_new_delete_asks_the_end_user_first() -> None:
    import_paths({"/pets/{id}": {"get": {}, "put": {}, "delete": {}}, "/pets/{id}/delete": {"post": {}}})

    assert sorted(op.request["method"] for op in Op.objects.filter(confirm=True)) == ["DELETE", "POST"]


@pytest.mark.parametrize(("was_imported_with_it", "asks"), [(True, False), (False, True)])
def test_later_import_keeps_the_choice_of_an_admin(was_imported_with_it: bool, asks: bool) -> None:
    import_paths({"/pets/{id}": {"delete": {"summary": "Delete a pet"}}})
    op = Op.objects.get()
    op.confirm = False
    if not was_imported_with_it:  # by a version that did not know that it is harmful: nobody has chosen yet
        op.shipped = {name: value for name, value in (op.shipped or {}).items() if name != "confirm"}
    op.save()

    done = import_paths({"/pets/{id}": {"delete": {"summary": "Give a pet away"}}})

    op.refresh_from_db()
    assert (op.summary, op.confirm) == ("Give a pet away", asks)
    assert done.merged.kept_edits == []


def test_imports_do_not_affect_each_other() -> None:
    import_functions(GET, LIST)
    before = get_stored_entry("crm.contact.get")

    done = import_functions(GET, group="sales")
    import_functions(build_function("send_mail"), group="sales")

    assert done.upstream_names == {"sales.contact.get": "get_contact"}
    assert get_stored_entry("crm.contact.get") == before
    second = get_stored_entry("sales.contact.get")
    assert (second["tool_name"], second["upstream_name"]) == ("sales_get_contact", "get_contact")
    assert (second["status"], Op.objects.get(op="crm.contact.get").status) == ("retired", "active")


def test_name_shared_by_two_ops_belongs_to_its_owner() -> None:
    import_functions(GET)
    import_functions(GET, group="sales")
    for group in ("tools", "widgets"):
        import_functions(build_function("PDF&URL"), group=group)

    catalog = publish()

    assert catalog.names["get_contact"] == "crm.contact.get"
    assert catalog.names["sales_get_contact"] == "sales.contact.get"
    assert catalog.names["PDF&URL"] == "tools.pdf_url.run"


def test_import_never_changes_shipped_or_own_rows() -> None:
    mine = make_op("onto.task.get", tool_name="get_task")
    OpAlias.objects.create(op=mine, name="list_tasks")
    before = get_stored_entry("onto.task.get")

    done = import_functions(
        build_function("onto"),
        build_function("get_task"),
        build_function("list_tasks"),
        build_function("onto.task"),
        group="onto",
    )
    report = loader.load_into_draft(build_content(build_op_entry("onto.task.ping")))

    assert get_stored_entry("onto.task.get") == before
    assert Group.objects.get(path="onto").summary == "Group onto"
    tool_names = {row["tool_name"] for row in map(get_stored_entry, done.upstream_names)}
    assert tool_names.isdisjoint({"onto", "get_task", "list_tasks", "onto.task"})
    assert report.no_longer_shipped == []
    publish()


def test_shipped_op_with_an_imported_name_is_omitted_and_reported() -> None:
    import_functions(GET)

    report = loader.load_into_draft(
        build_content(build_op_entry("onto.contact.get", tool_name="get_contact"), build_op_entry("crm.contact.get"))
    )

    assert report.skipped == ["onto.contact.get", "crm.contact.get"]
    assert "a row from another source has this name: crm.contact.get" in str(report)
    assert list(Op.objects.values_list("op", "source")) == [("crm.contact.get", "crm")]


@pytest.mark.parametrize("group", ["", "root", "CRM", "crm.", ".crm", "crm contact", "1crm", "c" * 61, "crm\n", "a..b"])
def test_import_refuses_an_invalid_group_path(group: str) -> None:
    with pytest.raises(InvalidImportGroup, match="such as crm"):
        import_functions(GET, group=group)


@pytest.mark.parametrize("group", ["onto.task.add", "onto.task.add.more", "add_task", "plus"])
def test_import_refuses_a_group_with_the_path_of_an_op(group: str) -> None:
    OpAlias.objects.create(op=make_op("onto.task.add", tool_name="add_task"), name="plus")

    with pytest.raises(InvalidImportGroup, match="is already the name of an op"):
        import_functions(GET, group=group)

    assert Op.objects.count() == 1


def test_import_accepts_a_nested_group() -> None:
    assert list(import_functions(GET, group="acme.sales").upstream_names) == ["acme.sales.contact.get"]
    assert list(import_functions(LIST, group="acme").upstream_names) == ["acme.contact.list"]
    assert Group.objects.get(path="acme").source == "acme.sales"
    publish()


@pytest.mark.parametrize(
    ("evil", "reason"),
    [
        (build_function("evil", "NUL \x00 within"), "NUL"),
        (build_function("evil", "half \ud800 a pair"), "JSON"),
        (build_function("evil", properties={"a": {"default": float("nan")}}), "JSON"),
    ],
)
def test_import_omits_invalid_functions_and_imports_the_rest(evil: Any, reason: str) -> None:
    done = import_functions(GET, evil, LIST)

    assert list(done.upstream_names.values()) == ["get_contact", "list_contacts"]
    (refusal,) = done.refusals
    assert refusal.name == "evil"
    assert reason in refusal.reason
    assert not Op.objects.filter(tool_name="evil").exists()
    publish()


def test_failed_import_leaves_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(run_import.merge, "merge_ops", fail)

    with pytest.raises(RuntimeError):
        import_functions(GET)

    assert not Group.objects.exists()


def test_import_reads_rows_in_batches(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    listed = [build_function(f"get_thing{n}x", f"Get thing {n}.") for n in range(1_200)]
    newer = [build_function(f"get_thing{n}x", f"Get the thing {n}.") for n in range(1_200)]
    batches = -(-1_200 // min(connection.ops.bulk_batch_size(Op._meta.concrete_fields, listed), bulk_writes.BATCH_SIZE))

    with django_assert_max_num_queries(16 + 5 * batches):
        import_functions(*listed)
    with django_assert_max_num_queries(16 + 9 * batches):
        done = import_functions(*newer)

    assert len(set(done.merged.updated) & set(done.upstream_names)) == 1_200
