"""The page of a connection: how calls go, secrets, changes upstream, a test, and ops added by hand."""

import html
import json
import re
from typing import Any

import pytest
from django.contrib.admin.utils import flatten
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.events import event_log
from audit.models import AuditEntry
from config.management.commands.docs import _build_errors_page
from console.connections import connection_fields, connection_test, figures, import_pages
from gateway.credentials import connection_secrets
from gateway.executors.remote import errors as transport_errors
from gateway.executors.remote.errors import API_ERRORS
from gateway.models import ConnectionSecret
from registry.catalog import connections
from registry.imports import definitions, drift
from registry.models import Connection, Group, Op, UpstreamDefinition
from tests.support.clients.api import Api
from tests.support.console.admin_pages import approve_changes, read, read_form, try_op
from tests.support.console.role_matrix import create_user_with_role
from tests.support.loops import for_each
from tests.support.rows.catalog_fixture import publish_draft
from tests.support.upstreams.http_upstream import NAME, READ, HttpUpstream, build_json
from tests.support.upstreams.openapi_documents import build_document
from tools.databases import ROOT

pytestmark = pytest.mark.usefixtures("background_at_once")

LIST_QUERIES = 25  # whatever the number of connections
LIMIT = {"name": "limit", "in": "query", "schema": {"type": "integer"}}
SAID = "GET {base}/pets was answered with status {status}: “No luck.”. "  # of a service, as a text on one line
PETS = {"/pets": {"get": {"summary": "List pets"}}, "/toys": {"get": {"summary": "List toys"}}}


def url_of(page: str, connection: Connection | None = None) -> str:
    return reverse(f"admin:registry_connection_{page}", args=[(connection or Connection.objects.get(name=NAME)).pk])


@pytest.fixture
def pets(api: Api, admin_client: HttpClient, http_upstream: HttpUpstream) -> Connection:
    """Import and publish a document that lists pets and toys."""
    serve(http_upstream, PETS)
    page: Any = admin_client.post(
        reverse("admin:registry_connection_import"),
        {"url": http_upstream.server.url("/openapi.json"), "text": ""},
        follow=True,
    )
    picked = {"group": "pets", "connection": "", "base_url": http_upstream.base_url, "include_deprecated": "on"}
    admin_client.post(page.request["PATH_INFO"], picked)
    publish_draft()
    return Connection.objects.get(name="pets")


def serve(upstream: HttpUpstream, paths: dict[str, Any]) -> None:
    """Have the upstream answer its document, and a list of pets to everything else."""
    document = build_json(build_document(paths))
    upstream.answer = lambda request: document if b" /openapi.json" in request else build_json({"pets": []})


def test_figures_count_calls_that_reached_the_executor(api: Api, shop: HttpUpstream, admin_client: HttpClient) -> None:
    api.exec(READ, {"order_id": "7"})
    shop.answer = build_json({}, status="404 Not Found")
    api.exec(READ, {"order_id": "8"})
    api.exec(READ, {})  # invalid_args
    api.exec("shop.order.find")  # unknown_op
    api.exec("onto.task.list", {})  # runs elsewhere
    api.exec(READ, {"order_id": "7"}, Gateway_Purpose="context")  # for the chat's page
    try_op(admin_client, READ, {"order_id": "7"})
    event_log.flush()

    counted = figures.get_figures(Connection.objects.get(name=NAME), at=timezone.now())

    assert (counted.calls, counted.failed) == (2, 1)
    assert [(error.reason, error.count) for error in counted.errors] == [("upstream_not_found", 1)]
    lists: list[Any] = [admin_client.get(url) for url in (counted.calls_url, counted.failed_url, counted.errors[0].url)]
    assert [page.context["cl"].result_count for page in lists] == [2, 1, 1]
    page = read(admin_client.get(url_of("change")))
    assert ">2 calls</a> in the last 24 hours, " in page
    assert ">1 failed</a>. Half took less than" in page
    assert "1 × upstream_not_found" in page


def test_the_list_shows_how_each_connection_is(
    shop: HttpUpstream, pets: Connection, api: Api, admin_client: HttpClient, django_assert_max_num_queries: Any
) -> None:
    shop.answer = build_json({}, status="404 Not Found")
    api.exec(READ, {"order_id": "8"})
    api.exec("pets.pet.list", {})
    event_log.flush()
    Connection.objects.filter(name="pets").update(auth=Connection.Auth.BEARER)

    with django_assert_max_num_queries(LIST_QUERIES):
        page: Any = admin_client.get(reverse("admin:registry_connection_changelist"))

    rows = {row.name: row for row in page.context["cl"].result_list}
    assert [(rows[name].figures.calls, rows[name].figures.failed) for name in (NAME, "pets")] == [(1, 1), (1, 1)]
    text = read(page)
    assert ">bearer token missing</span>" in text
    assert rows["pets"].figures.calls_url.replace("&", "&amp;") in text
    assert "Imported" in text


def test_every_error_of_the_executor_is_counted() -> None:
    errors = [
        transport_errors.convert_transport_error(kind("x"), is_write=is_write)
        for kind in API_ERRORS
        for is_write in (True, False)
    ]

    assert not [
        each.reason
        for each in errors
        if not each.reason.startswith("upstream_") and each.reason not in figures.EXECUTOR_REASONS
    ]


def test_a_secret_is_set_and_never_shown(shop: HttpUpstream, admin_client: HttpClient, api: Api) -> None:
    url = url_of("change")
    form = read_form(admin_client.get(url))

    saved = admin_client.post(
        url,
        form
        | {"auth": "bearer", "secrets-TOTAL_FORMS": "1", "secrets-0-name": "token", "secrets-0-secret": "canary-1234"},
    )

    assert saved.status_code == 302
    assert "canary" not in ConnectionSecret.objects.get().value
    page = read(admin_client.get(url))
    assert "Bearer token: set just now." in page
    assert "canary" not in page
    changes = AuditEntry.objects.get(kind="connection", action="changed").changes
    assert (changes["secret token"][0], changes["secret token"][1][:4]) == (None, "set ")
    assert "canary" not in json.dumps(list(AuditEntry.objects.values_list("changes", flat=True)))
    connections.refresh_connections()
    api.exec(READ, {"order_id": "7"})
    assert "authorization: bearer canary-1234\r\n" in shop.get_head()


@for_each(
    "auth, subject_as, names",
    [("none", "none", ["token"]), ("client_credentials", "signed_token", ["client_secret", "signing_key"])],
    undone=True,
)
def test_page_offers_the_secrets_that_the_authentication_uses(
    shop: HttpUpstream, admin_client: HttpClient, auth: str, subject_as: str, names: list[str]
) -> None:
    Connection.objects.filter(name=NAME).update(
        auth=auth,
        subject_as=subject_as,
        **dict.fromkeys(("token_url", "authorize_url"), "https://x.example"),
        **dict.fromkeys(("key_name", "username", "client_id", "subject_header"), "x"),
    )

    form = read_form(admin_client.get(url_of("change")))
    offered = [form[f"secrets-{number}-name"] for number in range(int(form["secrets-TOTAL_FORMS"]))]

    assert offered == names
    # Rows that nobody filled in are no mistake, also without JavaScript and after another choice.
    assert admin_client.post(url_of("change"), form | {"auth": "bearer"}).status_code == 302
    assert not ConnectionSecret.objects.exists()
    form = read_form(admin_client.get(url_of("change")))
    assert form["secrets-0-name"] == "token"


def test_page_says_what_each_choice_shows() -> None:
    fields = {name for _, options in connection_fields.NEW_FIELDSETS for name in flatten(options["fields"])}
    shown = {name for needed in connection_fields.NEEDED_FIELDS.values() for names in needed.values() for name in names}

    assert shown == fields
    for column, needed in connection_fields.NEEDED_FIELDS.items():
        assert list(needed) == [value for value, _ in Connection._meta.get_field(column).choices]


@for_each(
    "fields, problem",
    [
        ({"base_url": ""}, "An HTTP service needs this field."),
        ({"base_url": "ftp://a"}, "Send an http:// or https:// address with a host."),
        ({"base_url": "https://u:p@a.example"}, "Send no user name or password in the address."),
        ({"auth": "api_key"}, "Api key needs this field."),
        ({"headers": '{"Authorization": "x"}'}, "Authorization cannot be set here."),
        ({"subject_as": "header"}, "Sending the end user needs this field."),
    ],
)
def test_wrong_settings_are_refused(
    shop: HttpUpstream, admin_client: HttpClient, fields: dict[str, str], problem: str
) -> None:
    form = read_form(admin_client.get(url_of("change")))

    assert problem in read(admin_client.post(url_of("change"), form | fields))


def test_connection_is_tested_with_one_of_its_reads_and_checked(pets: Connection, admin_client: HttpClient) -> None:
    assert "pets.pet.list answered in" in read(admin_client.post(url_of("test", pets), follow=True))
    assert "Nothing has changed since the import." in read(admin_client.post(url_of("check", pets), follow=True))


@for_each(
    "auth, status, text, change",
    [
        ("none", "500 Internal Server Error", f"The service failed. {SAID}", "Check the Base URL, and the logs"),
        ("none", "401 Unauthorized", f"The service denies the call. {SAID}", "choose its Authentication."),
        ("bearer", "403 Forbidden", f"The service denies the call. {SAID}", "Use credentials that allow it"),
        # What a service says about credentials is not repeated: it may quote them.
        ("bearer", "401 Unauthorized", "The service does not accept the credentials. ", "with status 401. Check the"),
        ("api_key", "401 Unauthorized", "", "its API key is not set. Set it under Authentication or Secrets."),
    ],
)
def test_failed_test_tells_the_admin_what_to_change(
    pets: Connection,
    admin_client: HttpClient,
    http_upstream: HttpUpstream,
    auth: str,
    status: str,
    text: str,
    change: str,
) -> None:
    Connection.objects.filter(pk=pets.pk).update(auth=auth, key_name="X-Key")
    connection_secrets.set_secret(pets, "token", "canary")
    connections.refresh_connections()
    http_upstream.answer = build_json({"detail": "No\nluck\u200b."}, status=status)

    page = html.unescape(read(admin_client.post(url_of("test", pets), follow=True)))

    assert "pets.pet.list failed in" in page
    assert text.format(base=pets.base_url, status=status[:3]) in page
    assert change in page
    assert "canary" not in page
    assert "dministrator" not in page.partition("pets.pet.list failed in")[2].partition("<")[0]


def test_every_failure_of_a_service_has_advice() -> None:
    listed = re.findall(r"^\| `(upstream_\w+)`", _build_errors_page(ROOT), re.M)

    assert {*listed, *figures.EXECUTOR_REASONS} - {"outcome_unknown"} <= connection_test.FAILURES.keys()


def test_changed_definition_is_shown_and_approved(
    pets: Connection, admin_client: HttpClient, http_upstream: HttpUpstream, api: Api
) -> None:
    serve(http_upstream, {"/pets": {"get": {"summary": "List pets", "parameters": [LIMIT]}}})

    page = read(admin_client.post(url_of("check", pets), follow=True))
    assert "2 changed." in page
    assert "2 definitions changed upstream. Calls still follow the imported definitions." in page
    assert api.exec("pets.pet.list")["ok"] is True
    assert definitions.count_changed() == {pets.name: 2}  # what alerts watch
    assert definitions.map_connections(["pets.pet.list", "pets.none"]) == {"pets.pet.list": pets.name}

    changes = read(admin_client.get(url_of("changes", pets)))
    assert "<ins>" in changes
    assert "It is no longer in the document. Approving retires the op." in changes
    approve_changes(admin_client, url_of("changes", pets), "GET /pets", "GET /toys")
    assert definitions.count_changed() == {}

    assert Op.objects.get(op="pets.pet.list").parameters_schema["properties"] == {"limit": {"type": "integer"}}
    assert Op.objects.get(op="pets.toy.list").status == "retired"
    assert UpstreamDefinition.objects.get().seen is None
    assert AuditEntry.objects.filter(name="pets.pet.list", note="Approved changes of pets").exists()


def test_approved_change_keeps_whether_a_delete_asks_first(
    api: Api, admin_client: HttpClient, http_upstream: HttpUpstream, pets: Connection
) -> None:
    serve(http_upstream, {**PETS, "/pets": PETS["/pets"] | {"delete": {"summary": "Delete all pets"}}})
    url = http_upstream.server.url("/openapi.json")
    page: Any = admin_client.post(reverse("admin:registry_connection_import"), {"url": url, "text": ""}, follow=True)
    admin_client.post(page.request["PATH_INFO"], {"group": "pets", "connection": "pets"})
    assert Op.objects.get(op="pets.pet.delete_all").confirm is True

    serve(http_upstream, {**PETS, "/pets": PETS["/pets"] | {"delete": {"summary": "Give all pets away"}}})
    drift.check_connection(pets.pk)
    (change,) = import_pages.describe_upstream_changes(pets)
    assert [passage.label for passage in change.passages] == ["summary"]
    definitions.approve_changes(pets, ["DELETE /pets"], at=timezone.now())

    op = Op.objects.get(op="pets.pet.delete_all")
    assert (op.summary, op.confirm) == ("Give all pets away", True)


def test_pinned_op_is_neither_shown_nor_run_until_its_change_is_approved(
    pets: Connection, admin_client: HttpClient, http_upstream: HttpUpstream, api: Api
) -> None:
    Connection.objects.update(is_pinned=True)
    serve(http_upstream, {**PETS, "/pets": {"get": {"summary": "Send all pets away"}}})
    drift.check_connection(pets.pk)
    connections.refresh_connections()

    refused = api.exec("pets.pet.list")

    assert refused["error"]["details"]["reason"] == "not_connected"
    assert "its definition changed upstream, and the change is not approved" in refused["error"]["message"]
    assert [item["path"] for item in api.help("pets")["items"]] == ["pets.toy"]
    approve_changes(admin_client, url_of("changes", pets), "GET /pets")
    connections.refresh_connections()
    assert api.exec("pets.pet.list")["ok"] is True


def test_a_change_that_is_taken_back_after_its_approval_is_a_change(
    pets: Connection, http_upstream: HttpUpstream
) -> None:
    serve(http_upstream, {**PETS, "/pets": {"get": {"summary": "List pets", "parameters": [LIMIT]}}})
    drift.check_connection(pets.pk)
    definitions.approve_changes(pets, ["GET /pets"], at=timezone.now())

    serve(http_upstream, PETS)
    drift.check_connection(pets.pk)

    assert [row.upstream_name for row in definitions.list_changed(pets)] == ["GET /pets"]


def test_documents_are_checked_when_they_are_due(pets: Connection, http_upstream: HttpUpstream) -> None:
    serve(http_upstream, {"/pets": PETS["/pets"]})
    assert drift.check_when_due(timezone.now()) is False
    assert len(http_upstream.requests) == 1

    Connection.objects.filter(pk=pets.pk).update(checked_at=timezone.now() - timezone.timedelta(hours=25))
    assert drift.check_when_due(timezone.now()) is False

    assert len(http_upstream.requests) == 2
    assert UpstreamDefinition.objects.get(upstream_name="GET /toys").seen_digest == ""


def build_rows(*rows: tuple[str, ...], at: int = 0) -> dict[str, str]:
    """Return the fields of rows of arguments, the first of which has the number `at`."""
    names = ("name", "place", "type", "is_required", "description", "value")
    return {
        f"argument-{number}-{name}": value
        for number, row in enumerate(rows, at)
        for name, value in zip(names, row, strict=True)
    }


BY_HAND: dict[str, str] = {
    "connection": "",
    "service_name": "",
    "base_url": "",
    "schema": "",
    "op": "shop.invoice.pay",
    "summary": "Pay an invoice",
    "description": "",
    "method": "POST",
    "address": "/invoices/{invoice_id}/pay?source=agent",
    "kind": "",
    "argument-TOTAL_FORMS": "3",
    "argument-INITIAL_FORMS": "0",
    **build_rows(
        ("invoice_id", "query", "string", "on", "Its id", "i-1"),
        ("amount", "body", "number", "on", "In euros", "12.5"),
        ("X-Reason", "header", "string", "", "", ""),
    ),
}
EMPTY = ("", "query", "string", "", "", "")
NO_ROWS = build_rows(EMPTY, EMPTY, EMPTY)


def add_op(client: HttpClient, **fields: str) -> HttpResponse:
    """Submit the page that adds an op, for the service of the tests."""
    chosen = {"connection": str(Connection.objects.get(name=NAME).pk)}
    return client.post(reverse("admin:op_new"), BY_HAND | chosen | fields, follow=True)


def test_op_is_added_by_hand_tried_and_sent(api: Api, shop: HttpUpstream, admin_client: HttpClient) -> None:
    tried = add_op(admin_client)

    op = Op.objects.get(op="shop.invoice.pay")
    assert op.request == {
        "method": "POST",
        "path": "/invoices/{invoice_id}/pay",
        "parameters": [{"name": "invoice_id", "in": "path"}, {"name": "X-Reason", "in": "header"}],
        "query": {"source": "agent"},
        "body": {"content_type": "application/json", "properties": {"amount": {}}},
    }
    assert op.kind == "write"
    assert op.parameters_schema["required"] == ["invoice_id", "amount"]
    assert "Added shop.invoice.pay to the draft." in read(tried)
    publish_draft()
    assert api.exec("shop.invoice.pay", {"invoice_id": "i-1", "amount": 12.5})["ok"] is True
    assert shop.get_head().startswith("POST /v1/invoices/i-1/pay?source=agent HTTP/1.1\r\n")
    assert shop.get_json() == {"amount": 12.5}


@for_each(
    "fields, problem",
    [
        ({"op": READ}, "already exists"),
        ({"op": f"{READ}.more"}, f"{READ} is an op, so nothing can be below it."),
        ({"address": "https://other.example/x"}, "Send only the path below the base URL"),
        ({"method": "DELETE", "kind": "read"}, "DELETE changes something. Choose write."),
        ({"address": "/a/{unknown}"}, "No argument is named unknown. Add it below, or remove the braces."),
        ({"address": "/a/{invoice_id}/.."}, "The path has a segment of one or two dots."),
        ({"argument-1-value": "much"}, "Argument 2, Example: Not a valid number."),
        ({"argument-1-name": ""}, "Argument 2, Name: Enter a name, or remove the row."),
        ({"argument-1-name": "invoice_id"}, "Argument 2, Name: Argument 1 has this name. Choose another one."),
        ({"argument-1-place": "path"}, "Argument 2, Goes into: The address has no {amount}."),
        ({"argument-2-name": "Host"}, "Argument 3, Name: An argument cannot set the header Host."),
        # Rows that were removed are not numbered.
        ({"argument-1-DELETE": "on", "argument-2-name": "Host"}, "Argument 2, Name: An argument cannot set the header"),
        ({"op": "shop_order.get"}, "The tool name shop_order_get belongs to shop.order.get. Choose another path."),
        ({"schema": '{"type": "object"}'}, "Fill in the arguments below or paste a schema, not both."),
        ({"schema": '{"type": '} | NO_ROWS, "Line 1"),
        ({"schema": '{"type": "array"}'} | NO_ROWS, "schema"),
        ({"connection": "", "service_name": "billing", "base_url": "billing.acme.com"}, "base_url"),
        ({"service_name": "billing"}, "Choose a connection or describe a new service, not both."),
    ],
)
def test_op_that_could_not_run_is_not_added(
    shop: HttpUpstream, admin_client: HttpClient, fields: dict[str, str], problem: str
) -> None:
    count = Op.objects.count()

    assert problem in read(add_op(admin_client, **fields))
    assert Op.objects.count() == count


def test_op_is_added_with_a_pasted_schema(api: Api, shop: HttpUpstream, admin_client: HttpClient) -> None:
    schema = {
        "type": "object",
        "properties": {
            "invoice_id": {"type": "string", "description": "<b>Which</b>"},
            "lines": {"type": "array", "items": {"type": "string", "maxLength": 9}},
        },
        "required": ["invoice_id"],
    }

    tried = add_op(admin_client, schema=json.dumps(schema), **NO_ROWS)

    op = Op.objects.get(op="shop.invoice.pay")
    assert op.parameters_schema == schema
    assert op.request["parameters"] == [{"name": "invoice_id", "in": "path"}]
    assert op.request["body"]["properties"] == {"lines": {}}
    assert "<b>Which" not in read(tried)
    publish_draft()
    assert api.exec("shop.invoice.pay", {"invoice_id": "i-1", "lines": ["a"]})["ok"] is True
    assert shop.get_json() == {"lines": ["a"]}


def test_op_of_a_new_service_is_added_tried_and_published(
    api: Api, shop: HttpUpstream, admin_client: HttpClient
) -> None:
    service = {"connection": "", "service_name": "billing", "base_url": shop.base_url}
    fields = {"op": "billing.rate.list", "summary": "List the rates", "method": "GET", "address": "/rates"}

    tried = add_op(admin_client, **service, **fields, **NO_ROWS)

    assert "Added billing.rate.list to the draft." in read(tried)
    assert set(Group.objects.filter(path__startswith="billing").values_list("path", flat=True)) == {
        "billing",
        "billing.rate",
    }
    assert AuditEntry.objects.filter(kind="connection", name="billing", action="added", by="admin").exists()
    answered = read(try_op(admin_client, "billing.rate.list", {}))
    assert "200 OK" in answered
    assert f'href="{reverse("admin:registry_release_review")}">Review and publish</a>' in answered
    publish_draft()
    assert api.exec("billing.rate.list", {})["ok"] is True


def test_op_list_leads_to_the_page_and_a_connection_fills_itself_in(
    shop: HttpUpstream, admin_client: HttpClient
) -> None:
    connection = Connection.objects.get(name=NAME)
    listed = read(admin_client.get(reverse("admin:registry_op_changelist")))
    shown = read(admin_client.get(reverse("admin:registry_connection_change", args=[connection.pk])))
    page: Any = admin_client.get(f"{reverse('admin:op_new')}?connection={connection.pk}")

    assert f'href="{reverse("admin:op_new")}">Add op</a>' in listed
    assert f'href="{reverse("admin:op_new")}?connection={connection.pk}">Add an op</a>' in shown
    assert page.context["form"].initial["connection"] == connection


def test_editor_chooses_a_connection_and_cannot_add_one(shop: HttpUpstream, client: HttpClient) -> None:
    client.force_login(create_user_with_role("E"))

    page = read(client.get(reverse("admin:op_new")))
    refused = read(add_op(client, connection="", service_name="billing", base_url="https://billing.acme.com"))
    add_op(client)

    assert "Name of the new service" not in page
    assert "This field is required." in refused
    assert not Connection.objects.filter(name="billing").exists()
    assert Op.objects.filter(op="shop.invoice.pay").exists()


def test_rows_that_are_empty_or_removed_are_no_arguments(shop: HttpUpstream, admin_client: HttpClient) -> None:
    page: Any = admin_client.get(reverse("admin:op_new"))
    assert "Add argument</button>" in read(page)

    added = build_rows(EMPTY, EMPTY, at=3)
    add_op(admin_client, **added, **{"argument-TOTAL_FORMS": "5", "argument-2-DELETE": "on"})

    assert list(Op.objects.get(op="shop.invoice.pay").parameters_schema["properties"]) == ["invoice_id", "amount"]


def test_a_try_reads_for_real_and_shows_what_a_model_sees(
    shop: HttpUpstream, admin_client: HttpClient, api: Api
) -> None:
    shop.answer = build_json({"id": "7", "state": "open", "debug": "x" * 500})

    page: Any = try_op(admin_client, READ, {"order_id": "7"})
    assert "dry_run" not in page.context["answer"]["envelope"]
    recorded = page.context["preview"].form.initial["recorded"]
    url = page.request["PATH_INFO"]
    preview = read(admin_client.post(url, {"recorded": recorded, "fields_text": "id\nstate"}))
    assert '<h2 class="ui-heading" id="seen">What a model sees: ' in preview
    assert Op.objects.get(op=READ).result_fields == []
    admin_client.post(url, {"recorded": recorded, "fields_text": "id\nstate", "save": "1"})

    assert Op.objects.get(op=READ).result_fields == ["id", "state"]
    publish_draft()
    assert api.exec(READ, {"order_id": "7"})["result"] == {"id": "7", "state": "open"}
    assert "damaged" in read(admin_client.post(url, {"recorded": f"{recorded}x", "fields_text": ""}))


def test_a_write_is_sent_only_after_its_path_was_typed(shop: HttpUpstream, admin_client: HttpClient) -> None:
    write = "shop.order.create"

    assert "would be sent with these args" in read(try_op(admin_client, write, {"product": "pen"}))
    unconfirmed = read(try_op(admin_client, write, {"product": "pen"}, confirmation="yes"))
    assert "Type shop.order.create, or leave this empty." in unconfirmed
    assert shop.requests == []
    try_op(admin_client, write, {"product": "pen"}, confirmation=write)

    assert shop.get_json() == {"sku": "pen"}
    assert AuditEntry.objects.filter(name=write, action="tried", note="Sent for real").exists()


def test_only_those_who_may_run_ops_send_writes(client: HttpClient, shop: HttpUpstream) -> None:
    client.force_login(create_user_with_role("E"))

    try_op(client, "shop.order.create", {"product": "pen"}, confirmation="shop.order.create")

    assert shop.requests == []
