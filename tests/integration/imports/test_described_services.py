"""Documents as services publish them, imported with the command and called through the API."""

import json
from typing import Any

import pytest
from django.test import Client as HttpClient
from django.urls import reverse

from gateway.credentials import connection_secrets
from registry.catalog import connections
from registry.models import Connection
from tests.support.upstreams.documented_calls import describe_get, describe_post
from tests.support.upstreams.imported_service import ImportedService
from tests.support.upstreams.openapi_documents import OK

pytestmark = [pytest.mark.django_db]

LARGE = 9_007_199_254_740_993
KEYS = {
    "key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
    "app": {"type": "apiKey", "in": "header", "name": "X-App-Id"},
}


def describe_keys() -> dict[str, Any]:
    return describe_get() | {"security": [{"key": [], "app": []}], "components": {"securitySchemes": KEYS}}


def set_secrets(connection: Connection, **secrets: str) -> None:
    names = {"key": "key", "app": connection_secrets.MoreKey("X-App-Id", "header")}
    for each, secret in secrets.items():
        connection_secrets.set_secret(connection, names[each], secret)
    connections.clear_connections()


def test_calls_send_all_keys_and_answers_have_none(imported_service: ImportedService) -> None:
    output = imported_service.load(describe_keys())
    assert "Each call needs X-Api-Key (header), X-App-Id (header)." in output
    assert "API key, API key X-App-Id." in output

    set_secrets(imported_service.get_connection(), key="first-canary-1")
    missing = imported_service.exec({})
    assert missing["error"]["details"]["reason"] == "not_configured"
    assert "API key X-App-Id is not set" in missing["error"]["message"]
    set_secrets(imported_service.get_connection(), app="second-canary-2")
    imported_service.answer = {"echo": ["first-canary-1", "second-canary-2"]}
    answer = imported_service.exec({})

    headers = imported_service.last.headers
    assert (headers["x-api-key"], headers["x-app-id"]) == ("first-canary-1", "second-canary-2")
    assert answer["result"] == {"echo": ["***", "***"]}


def test_page_of_a_connection_takes_all_keys(imported_service: ImportedService, admin_client: HttpClient) -> None:
    imported_service.load(describe_keys())
    connection = imported_service.get_connection()
    address = reverse("admin:registry_connection_change", args=[connection.pk])
    page = admin_client.get(address)
    forms = [page.context["adminform"].form]
    for each in page.context["inline_admin_formsets"]:
        forms += [each.formset.management_form, *each.formset.forms]
    fields = {field.html_name: field.value() for form in forms for field in form}
    assert "API key X-App-Id" in page.content.decode()

    filled = {name: "secret-canary" for name in fields if name.endswith("-secret")}
    texts = {name: json.dumps(getattr(connection, name)) for name in ("headers", "more_keys")}
    data = {name: value for name, value in fields.items() if value is not None and value is not False} | filled | texts
    assert admin_client.post(address, data).status_code == 302

    assert connection.secrets.count() == 2
    stored = admin_client.get(address).content.decode()
    assert "secret-canary" not in stored
    connections.clear_connections()
    assert imported_service.send({}).headers["x-app-id"] == "secret-canary"
    again = data | dict.fromkeys(filled, "")
    again |= {"secrets-INITIAL_FORMS": "2"} | {
        f"secrets-{at}-id": str(row.pk) for at, row in enumerate(connection.secrets.order_by("name"))
    }
    assert admin_client.post(address, again).status_code == 302
    assert connection.secrets.count() == 2


def test_pages_and_help_show_bounds_beyond_a_double(
    imported_service: ImportedService, admin_client: HttpClient
) -> None:
    bound = 2**64 - 1
    schema = {"type": "integer", "minimum": -(2**63), "maximum": bound}
    imported_service.load(describe_get({"name": "after", "in": "query", "schema": schema}))

    assert imported_service.send({"after": 5}).target == "GET /things?after=5"
    assert imported_service.help(arg="after")["arg"]["maximum"] == bound
    assert str(bound) in imported_service.help(format="full")["args"][0]["type"]
    for name in ("admin:registry_op_changelist", "admin:registry_release_review"):
        assert admin_client.get(reverse(name)).status_code == 200, name


def test_function_with_large_numbers_is_imported_and_tells_them(imported_service: ImportedService) -> None:
    number = {"type": "integer", "default": 2**63 - 1, "examples": [2**60 + 1], "maximum": 2**64 - 1}
    parameters = {"type": "object", "properties": {"id": number}}
    imported_service.load(
        [{"type": "function", "function": {"name": "get_order", "parameters": parameters}}], format="openai"
    )

    argument = imported_service.help(arg="id")["arg"]
    assert (argument["default"], argument["maximum"]) == (2**63 - 1, 2**64 - 1)
    for sent in (LARGE, str(LARGE)):
        assert imported_service.exec({"id": sent})["ok"]


def test_id_of_64_bits_reaches_the_service(imported_service: ImportedService) -> None:
    path = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "format": "int64"}}
    imported_service.load(describe_get(path, path="/things/{id}"))

    for sent in (LARGE, str(LARGE)):
        assert imported_service.send({"id": sent}).target == f"GET /things/{LARGE}"


def test_help_says_that_other_fields_are_sent_and_what_a_file_is(imported_service: ImportedService) -> None:
    photo = {"type": "array", "items": {"type": "string", "format": "binary"}}
    schema = {"type": "object", "properties": {"photos": photo}, "additionalProperties": {"type": "string"}}
    imported_service.load(describe_post(schema, "multipart/form-data"))

    assert imported_service.help()["args"] == {"photos": "[string], ids of stored files", "*": "string, other fields"}
    assert "no stored file" in imported_service.refuse({"photos": ["f-1"]})
    assert b'name="color"\r\n\r\nred' in imported_service.send({"color": "red"}).body


@pytest.mark.usefixtures("background_at_once")
def test_report_says_what_can_never_be_called_and_why_nothing_matches(
    imported_service: ImportedService, admin_client: HttpClient
) -> None:
    impossible = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"allOf": [{"type": "string"}, {"type": "integer"}]}},
    }
    document = describe_post(impossible)
    document["paths"] |= {"/others": {"get": {"responses": OK}, "trace": {"responses": OK}}}
    document |= {"security": [{"key": [], "app": []}]}
    document["components"]["securitySchemes"] = KEYS
    output = imported_service.load(document)
    remark = "It can never be called as documented: it requires a, which has parts of different types. POST /things"
    assert f"1 × {remark}" in output

    page = admin_client.post(
        reverse("admin:registry_connection_import"), {"url": "", "text": json.dumps(document)}, follow=True
    )
    assert "Each call needs X-Api-Key (header), X-App-Id (header)." in page.content.decode()

    del document["paths"]["/things"], document["paths"]["/others"]["get"]
    output = imported_service.load(document)
    assert "No operation of the document matches. Left out: TRACE /others: The gateway does not send TRACE" in output
