"""The OpenAPI document is valid and complete, and the API answers as it says."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import hypothesis
import jsonschema
import jsonschema_rs
import pytest
import schemathesis
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import get_resolver, reverse
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi import checks
from schemathesis.specs.openapi.schemas import OpenApiSchema

from gateway.models import Scope
from tests.support.clients.api import Api
from tests.support.cpu_budget import examples
from workspace.demo import DEMO_PROJECT_ID, DEMO_SUBJECT, DEMO_TASK_ID

MEMBERS = ("properties", "additionalProperties")  # keywords that say which members an object has
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}

# Addresses that the document leaves out, and why.
UNDOCUMENTED = {"api/schema": "the document itself", "api/docs": "the page that shows the document"}


@pytest.fixture
def document(db: None) -> dict[str, Any]:
    response = HttpClient().get("/api/schema")
    assert response.headers["Content-Type"] == "application/json"
    return response.json()


def iterate_responses(document: dict[str, Any]) -> Iterator[tuple[str, str, int, dict[str, Any]]]:
    """Yield path, method, status and description of every documented response."""
    for path, operations in document["paths"].items():
        for method in METHODS & set(operations):
            for status, response in operations[method]["responses"].items():
                yield path, method, int(status), response


def assert_matches_document(document: dict[str, Any], method: str, response: HttpResponse, name: str = "") -> None:
    """Check a response against the document's schema for its status, and against the component `name` if given."""
    path = urlsplit(response.request["PATH_INFO"]).path
    schema = document["paths"][path][method]["responses"][str(response.status_code)]["content"]["application/json"]
    schema_with_components = {**schema["schema"], "components": document["components"]}
    body = response.json()

    errors = list(jsonschema_rs.Draft202012Validator(schema_with_components).iter_errors(body))
    assert not errors, [(str(error), list(error.instance_path)) for error in errors]
    if name:
        component = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        assert jsonschema_rs.Draft202012Validator(component).is_valid(body)


def test_document_is_generated_valid_and_without_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("spectacular", validate=True, fail_on_warn=True, format="openapi-json")

    assert json.loads(capsys.readouterr().out)["openapi"].startswith("3.1")


def test_document_components_compile_and_are_all_used(document: dict[str, Any]) -> None:
    components = document["components"]["schemas"]

    for name, schema in components.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema_rs.Draft202012Validator({**schema, "components": document["components"]})
        assert f'"#/components/schemas/{name}"' in json.dumps(document), f"nothing uses {name}"


def iterate_schemas(node: Any, pointer: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield everything in the document that may be a schema, with its JSON Pointer."""
    if isinstance(node, dict):
        yield pointer, node
    for key, child in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if key != "examples":  # values, and one of them has a schema in it
            yield from iterate_schemas(child, f"{pointer}/{key}")


def has_type(schema: dict[str, Any], name: str) -> bool:
    types = schema.get("type")
    return types == name or (isinstance(types, list) and name in types)


def test_document_has_valid_examples_of_every_json_body(document: dict[str, Any]) -> None:
    components = {"components": document["components"]}
    resolved = {f"#/components/examples/{name}": each for name, each in document["components"]["examples"].items()}
    used = set()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            bodies = [operation[name] for name in ("requestBody",) if name in operation]
            for body in [*bodies, *operation["responses"].values()]:
                content = body.get("content", {}).get("application/json")
                for name, example in content["examples"].items() if content else ():
                    used.add(example.get("$ref"))
                    value = resolved.get(example.get("$ref"), example)["value"]
                    validator = jsonschema_rs.Draft202012Validator({**content["schema"], **components})
                    assert not [str(error) for error in validator.iter_errors(value)], (path, method, name)
    assert used >= set(resolved)


def test_document_begins_with_help_and_exec_and_says_how_to_get_a_key(document: dict[str, Any]) -> None:
    assert list(document["paths"])[:3] == ["/api/v1/help", "/api/v1/exec", "/api/v1/batch"]
    assert list(document["paths"]["/api/v1/help"]) == ["post", "get"]
    assert reverse("admin:gateway_apikey_add") in document["info"]["description"]


def test_document_gives_every_array_its_items(document: dict[str, Any]) -> None:
    arrays = {pointer: schema for pointer, schema in iterate_schemas(document) if has_type(schema, "array")}

    assert len(arrays) > 20
    assert [pointer for pointer, schema in arrays.items() if "items" not in schema] == []


def test_document_says_which_members_every_object_has(document: dict[str, Any]) -> None:
    objects = {pointer: schema for pointer, schema in iterate_schemas(document) if has_type(schema, "object")}

    assert len(objects) > 40
    assert [pointer for pointer, each in objects.items() if each.keys().isdisjoint(MEMBERS)] == []


def test_document_names_every_object_with_members_and_types_every_enum(document: dict[str, Any]) -> None:
    """Client generators name an object inside another one after its place: BatchRequestOpsItemType1."""
    schemas = dict(iterate_schemas(document))
    with_members = {pointer for pointer, each in schemas.items() if has_type(each, "object") and "properties" in each}
    enums = {pointer: each for pointer, each in schemas.items() if isinstance(each.get("enum"), list)}

    assert with_members <= {f"/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert [pointer for pointer, each in enums.items() if "type" not in each] == []


def test_document_operation_ids_are_unique_verb_phrases(document: dict[str, Any]) -> None:
    """Client generators name functions after them, and rename those that a language reserves, such as exec."""
    ids = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]

    assert len(set(ids)) == len(ids)
    assert [id for id in ids if not re.fullmatch(r"[a-z]+(_[a-z]+)+", id)] == []


def test_document_lists_exactly_the_routed_operations(document: dict[str, Any]) -> None:
    routed: dict[str, set[str]] = {}
    for prefix in get_resolver().url_patterns:
        inside = getattr(prefix, "url_patterns", [None])
        for pattern in inside:
            route = str(prefix.pattern) + (str(pattern.pattern) if pattern else "")
            path = re.sub(r"<\w+:(\w+)>", r"{\1}", route)
            if path.startswith("api/") and path not in UNDOCUMENTED:
                view = (pattern or prefix).callback.cls
                routed["/" + path] = {each for each in view.http_method_names if hasattr(view, each)} - {"head"}

    assert {path: METHODS & set(operations) for path, operations in document["paths"].items()} == routed
    assert routed


def test_document_lists_the_common_errors_of_every_operation(document: dict[str, Any]) -> None:
    statuses_by_operation: dict[tuple[str, str], set[int]] = {}
    for path, method, status, response in iterate_responses(document):
        statuses_by_operation.setdefault((path, method), set()).add(status)
        if status >= 400:
            schema = response["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/Error"}, (path, method, status)

    for operation, statuses in statuses_by_operation.items():
        assert statuses >= {200, 400, 401, 403, 404, 405, 413, 415, 429, 500, 503}, operation


def test_document_requires_a_json_body_for_every_post(document: dict[str, Any]) -> None:
    bodies = {path: each["post"]["requestBody"] for path, each in document["paths"].items() if "post" in each}

    upload = bodies.pop("/api/v1/files")
    assert all(body["required"] and list(body["content"]) == ["application/json"] for body in bodies.values())
    assert upload["required"]
    assert list(upload["content"]) == ["multipart/form-data", "application/octet-stream"]


# Help requests, and the component that describes the response. Whole groups and ops are checked by path below.
HELP_RESPONSES = [
    ({"path": "onto.task", "limit": 2}, "HelpGroup"),
    ({"path": "onto.project.create", "max_tokens": 60}, "HelpOp"),
    ({"path": "onto.project.create", "format": "full", "max_tokens": 200}, "HelpOpFull"),
    ({"path": "onto.task.update", "arg": "due_at"}, "HelpArg"),
    ({"path": "onto.task.update", "arg": "due_at", "max_tokens": 16}, "HelpArg"),
    ({"query": "finish a task"}, "HelpSearch"),
    ({"query": "finish a task", "max_tokens": 16}, "HelpSearch"),
    ({"query": "zebra crossing in the rain"}, "HelpSearch"),
]


def test_help_responses_match_the_document(api: Api, document: dict[str, Any], subtests: pytest.Subtests) -> None:
    for body, name in HELP_RESPONSES:
        with subtests.test(body=body):
            assert_matches_document(document, "post", api.post("help", body), name)

    parameters = "path=onto.task.update&format=full"
    first = api.get(f"help?{parameters}")
    assert_matches_document(document, "get", first, "HelpOpFull")
    again = api.get(f"help?{parameters}", If_None_Match=first.headers["ETag"])
    assert (again.status_code, again.content) == (304, b"")


def test_help_of_every_path_matches_the_document(api: Api, document: dict[str, Any]) -> None:
    paths = ["root"]
    for path in paths:
        for format in ("short", "full"):
            response = api.post("help", {"path": path, "format": format, "include_schemas": True})
            assert_matches_document(document, "post", response)
        paths += [item["path"] for item in response.json().get("items", [])]

    assert len(paths) > 15


def test_exec_responses_match_the_document(api: Api, document: dict[str, Any]) -> None:
    calls = [
        ("onto.task.list", {"limit": 2}),
        ("onto.project.get", {"project_id": DEMO_PROJECT_ID}),
        ("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "As documented"}),
        ("update_onto_task", {"task_id": DEMO_TASK_ID, "state_key": "completed"}),
        ("util.schema.field_info", {"entity_type": "ontology_task"}),
    ]
    for op, args in calls:
        for dry_run in (False, True):
            response = api.post("exec", {"op": op, "args": args, "dry_run": dry_run})

            assert response.status_code == 200, response.content
            assert_matches_document(document, "post", response, "Success")


def test_error_responses_match_the_document(api: Api, document: dict[str, Any], make_key: Any) -> None:
    title = {"project_id": DEMO_PROJECT_ID, "title": "Once"}
    other = {"project_id": DEMO_PROJECT_ID, "title": "Twice"}
    api.post("exec", {"op": "onto.task.create", "args": title, "idempotency_key": "k"})
    slow = Api(make_key(rate=1))
    slow.post("help", {})
    confirming = Api(make_key(confirms=True))
    refusals = {
        400: api.post("exec", {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "titel": "Misspelt"}}),
        401: Api("gw_00000000_unknown").post("exec", {"op": "onto.task.list"}),
        403: Api(make_key(scopes=["help"])).post("exec", {"op": "onto.task.list"}),
        404: api.post("exec", {"op": "onto.task.lst"}),
        409: confirming.post("exec", {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}}),
        413: api.post("exec", raw=b"{}" + b" " * 1_000_000),
        415: api.post("exec", raw=b"{}", **{"Content-Type": "text/plain"}),
        422: api.post("exec", {"op": "onto.task.create", "args": other, "idempotency_key": "k"}),
        429: next(response for response in (slow.post("help", {}) for _ in range(50)) if response.status_code == 429),
    }

    for status, response in refusals.items():
        assert response.status_code == status, response.content
        assert_matches_document(document, "post", response, "Error")


def test_docs_page_loads_only_from_its_own_host(db: None) -> None:
    page = HttpClient().get("/api/docs").content.decode()
    # Links to other pages load nothing.
    addresses = re.findall(r'<(?!a\s)\w[^>]*?\s(?:src|href|action|data-schema)="([^"]*)"', page)

    assert re.findall(r"<style|<script(?![^>]*\ssrc=)|<[^>]*\s(?:on\w+|style)=", page) == []
    assert len(addresses) >= 4
    for address in addresses:
        parts = urlsplit(address)
        assert (parts.scheme, parts.netloc) == ("", ""), address
        if parts.path.startswith("/static/"):
            assert finders.find(parts.path.removeprefix("/static/")), address
        else:
            assert HttpClient().get(parts.path).status_code == 200


def test_docs_script_names_no_other_host() -> None:
    with open(str(finders.find("gateway/docs.js")), encoding="utf-8") as script:
        text = script.read()

    assert "data-schema" in text or "dataset.schema" in text
    assert "://" not in text


@pytest.fixture
def _keep_connection_open(db: None) -> Iterator[None]:
    """Keep the test's database connection open after a WSGI request, as Django's test client does."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def api_with_all_scopes(live_catalog: Any, make_key: Any) -> Api:
    return Api(make_key(scopes=list(Scope.values)))


@pytest.fixture
def openapi_schema(_keep_connection_open: None, live_catalog: Any, settings: Any) -> OpenApiSchema:
    """Load the document with Schemathesis, configured here only and not by the environment."""
    settings.GATEWAY_URL = "https://gateway.example.com"  # links for end users need it
    return schemathesis.openapi.from_wsgi("/api/schema", get_wsgi_application(), config=SchemathesisConfig(seed=1))


def check_envelope(ctx: Any, response: Any, case: Any) -> None:
    """Check that an error is a JSON envelope with the trace id of the response, and not a server error."""
    assert response.status_code < 500, response.content
    if response.status_code >= 400:
        envelope = json.loads(response.content)
        assert set(envelope) == {"op", "ok", "error", "meta"}
        assert envelope["ok"] is False
        assert response.headers["gateway-trace"] == [envelope["meta"]["trace_id"]]


def check_invalid_data_is_refused(ctx: Any, response: Any, case: Any) -> None:
    """Check that invalid data are refused, if they were sent: of an unknown parameter without a value nothing is."""
    values = [value if isinstance(value, list) else [value] for value in (case.query or {}).values()]
    if all(any(item not in (None, {}, []) for item in value) for value in values):
        checks.negative_data_rejection(ctx, response, case)


CHECKS = [
    check_envelope,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    check_invalid_data_is_refused,
]


# Threads of the gateway may use `random` while hypothesis draws a value.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module:hypothesis.errors.HypothesisDeprecationWarning")
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_generated_requests_get_documented_responses(
    openapi_schema: OpenApiSchema, api_with_all_scopes: Api, mode: Any
) -> None:
    operations = [each.ok() for each in openapi_schema.get_all_operations()]
    assert len(operations) == 24
    headers = {**api_with_all_scopes.headers, "Gateway-Subject": DEMO_SUBJECT}

    for operation in operations:

        @hypothesis.settings(
            max_examples=examples(20),
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        )
        @hypothesis.given(operation.as_strategy(generation_mode=mode))
        def check_case(case: Any) -> None:
            case.call_and_validate(headers=headers, checks=CHECKS)

        check_case()
