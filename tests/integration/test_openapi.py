"""The OpenAPI document: valid, of every door, and true: what is answered is what it says."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
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
from django.urls import get_resolver
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi import checks
from schemathesis.specs.openapi.schemas import OpenApiSchema

from tests.support.api import Api, refused
from tests.support.cpu_budget import examples
from workspace.demo import DEMO_PROJECT_ID, DEMO_SUBJECT, DEMO_TASK_ID

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}

# Doors of the API that the document leaves out, and why.
LEFT_OUT = {
    "api/schema": "it is the document",
    "api/docs": "it is the document's page",
}


@pytest.fixture
def document(db: None) -> dict[str, Any]:
    response = HttpClient().get("/api/schema")
    assert response.headers["Content-Type"] == "application/json"
    return response.json()


def answers_of(document: dict[str, Any]) -> Iterator[tuple[str, str, int, dict[str, Any]]]:
    """Every documented answer: path, method, status and what is said of it."""
    for path, doors in document["paths"].items():
        for method in METHODS & set(doors):
            for status, said in doors[method]["responses"].items():
                yield path, method, int(status), said


def held(document: dict[str, Any], method: str, response: HttpResponse, name: str = "") -> None:
    """Hold an answer against what the document says of its status, and of no other form than `name`."""
    path = urlsplit(response.request["PATH_INFO"]).path
    schema = document["paths"][path][method]["responses"][str(response.status_code)]["content"]["application/json"]
    for_rs = {**schema["schema"], "components": document["components"]}
    answered = response.json()

    errors = list(jsonschema_rs.Draft202012Validator(for_rs).iter_errors(answered))
    assert not errors, [(str(error), list(error.instance_path)) for error in errors]
    if name:
        named = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
        assert jsonschema_rs.Draft202012Validator(named).is_valid(answered)


def test_document_is_valid_and_made_without_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("spectacular", validate=True, fail_on_warn=True, format="openapi-json")

    assert json.loads(capsys.readouterr().out)["openapi"].startswith("3.1")


def test_document_refers_to_nothing_that_is_not_there_and_its_schemas_compile(document: dict[str, Any]) -> None:
    components = document["components"]["schemas"]

    for name, schema in components.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema_rs.Draft202012Validator({**schema, "components": document["components"]})
        assert f'"#/components/schemas/{name}"' in json.dumps(document), f"nothing uses {name}"


def test_document_has_every_door_and_every_door_is_in_it(document: dict[str, Any]) -> None:
    routed: dict[str, set[str]] = {}
    for prefix in get_resolver().url_patterns:
        inside = getattr(prefix, "url_patterns", [None])
        for pattern in inside:
            route = str(prefix.pattern) + (str(pattern.pattern) if pattern else "")
            path = re.sub(r"<\w+:(\w+)>", r"{\1}", route)
            if path.startswith("api/") and path not in LEFT_OUT:
                view = (pattern or prefix).callback.cls
                routed["/" + path] = {each for each in view.http_method_names if hasattr(view, each)} - {"head"}

    assert {path: METHODS & set(doors) for path, doors in document["paths"].items()} == routed
    assert routed


def test_document_tells_of_every_door_what_any_door_answers(document: dict[str, Any]) -> None:
    told: dict[tuple[str, str], set[int]] = {}
    for path, method, status, said in answers_of(document):
        told.setdefault((path, method), set()).add(status)
        if status >= 400:
            schema = said["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/Error"}, (path, method, status)

    for door, statuses in told.items():
        assert statuses >= {200, 400, 401, 403, 404, 405, 413, 415, 429, 500, 503}, door


def test_document_says_that_a_body_must_be_sent(document: dict[str, Any]) -> None:
    bodies = [doors["post"]["requestBody"] for doors in document["paths"].values() if "post" in doors]

    assert all(body["required"] and list(body["content"]) == ["application/json"] for body in bodies)


# What help answers, and the component that describes it.
HELPED = [
    ({"path": "root"}, "HelpGroup"),
    ({"path": "onto.task"}, "HelpGroup"),
    ({"path": "onto.task", "limit": 2}, "HelpGroup"),
    ({"path": "onto.task.update"}, "HelpOp"),
    ({"path": "onto.task.update", "include_examples": True, "include_schemas": True}, "HelpOp"),
    ({"path": "onto.project.create", "max_tokens": 60}, "HelpOp"),
    ({"path": "onto.task.update", "format": "full"}, "HelpOpFull"),
    ({"path": "onto.project.create", "format": "full", "include_schemas": True}, "HelpOpFull"),
    ({"path": "onto.project.create", "format": "full", "max_tokens": 200}, "HelpOpFull"),
    ({"path": "onto.task.update", "arg": "due_at"}, "HelpArg"),
    ({"path": "onto.task.list", "arg": "limit"}, "HelpArg"),
    ({"query": "finish a task"}, "HelpSearch"),
    ({"query": "zebra crossing in the rain"}, "HelpSearch"),
]


def test_help_answers_as_documented(api: Api, document: dict[str, Any], subtests: pytest.Subtests) -> None:
    for body, name in HELPED:
        with subtests.test(body=body):
            held(document, "post", api.post("help", body), name)

    parameters = "path=onto.task.update&format=full"
    first = api.get(f"help?{parameters}")
    held(document, "get", first, "HelpOpFull")
    again = api.get(f"help?{parameters}", If_None_Match=first.headers["ETag"])
    assert (again.status_code, again.content) == (304, b"")


def test_help_of_every_node_is_as_documented(api: Api, document: dict[str, Any]) -> None:
    paths = ["root"]
    for path in paths:
        for form in ("short", "full"):
            response = api.post("help", {"path": path, "format": form, "include_schemas": True})
            held(document, "post", response)
        paths += [item["path"] for item in response.json().get("items", [])]

    assert len(paths) > 15


def test_exec_answers_as_documented(api: Api, document: dict[str, Any]) -> None:
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
            held(document, "post", response, "Success")


def test_every_refusal_is_as_documented(api: Api, document: dict[str, Any], make_key: Any) -> None:
    title = {"project_id": DEMO_PROJECT_ID, "title": "Once"}
    other = {"project_id": DEMO_PROJECT_ID, "title": "Twice"}
    api.post("exec", {"op": "onto.task.create", "args": title, "idempotency_key": "k"})
    slow = Api(make_key(rate=1))
    slow.post("help", {})
    asked = Api(make_key(confirms=True))
    refusals = {
        400: api.post("exec", {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "titel": "Mend me"}}),
        401: Api("gw_00000000_unknown").post("exec", {"op": "onto.task.list"}),
        403: Api(make_key(scopes=["help"])).post("exec", {"op": "onto.task.list"}),
        404: api.post("exec", {"op": "onto.task.lst"}),
        409: asked.post("exec", {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}}),
        413: api.post("exec", raw=b"{}" + b" " * 1_000_000),
        415: api.post("exec", raw=b"{}", **{"Content-Type": "text/plain"}),
        422: api.post("exec", {"op": "onto.task.create", "args": other, "idempotency_key": "k"}),
        429: next(response for response in (slow.post("help", {}) for _ in range(50)) if response.status_code == 429),
    }

    for status, response in refusals.items():
        assert response.status_code == status, response.content
        held(document, "post", response, "Error")
    for method, door in (("put", "exec"), ("delete", "help")):
        refused(getattr(api.http, method)(f"/api/v1/{door}", headers=api.headers), 405, "method_not_allowed")


def test_schema_and_page_take_no_other_method_and_answer_in_an_envelope(db: None) -> None:
    for path in LEFT_OUT:
        assert refused(HttpClient().post(f"/{path}"), 405, "method_not_allowed")["code"] == "NOT_FOUND"


class Loads(HTMLParser):
    """Every address that a page loads or names, and whether it holds code of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.addresses += [named[name] or "" for name in ("src", "href", "action", "data-schema") if name in named]
        if (tag == "script" and "src" not in named) or tag == "style":
            self.inline.append(tag)
        self.inline += [name for name in named if name.startswith("on") or name == "style"]


def test_page_loads_only_from_our_own_host(db: None) -> None:
    response = HttpClient().get("/api/docs")
    page = Loads()
    page.feed(response.content.decode())

    assert response.status_code == 200
    assert page.inline == []
    assert len(page.addresses) >= 4
    for address in page.addresses:
        parts = urlsplit(address)
        assert (parts.scheme, parts.netloc) == ("", ""), address
        if parts.path.startswith("/static/"):
            assert finders.find(parts.path.removeprefix("/static/")), address
        else:
            assert HttpClient().get(parts.path).status_code == 200


def test_page_is_told_where_the_document_is_and_nothing_of_elsewhere() -> None:
    with open(str(finders.find("gateway/docs.js")), encoding="utf-8") as script:
        text = script.read()

    assert "data-schema" in text or "dataset.schema" in text
    assert "://" not in text


@pytest.fixture
def _kept_connection(db: None) -> Iterator[None]:
    """A request through WSGI leaves the test's own connection open, as one through Django's test client does."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def described(_kept_connection: None, api: Api) -> OpenApiSchema:
    """The document as Schemathesis reads it; settings in code, none from the environment."""
    return schemathesis.openapi.from_wsgi("/api/schema", get_wsgi_application(), config=SchemathesisConfig(seed=1))


def is_an_envelope(ctx: Any, response: Any, case: Any) -> None:
    """Every failure is the envelope, in JSON, with its trace; none is a failure of ours."""
    assert response.status_code < 500, response.content
    if response.status_code >= 400:
        envelope = json.loads(response.content)
        assert set(envelope) == {"op", "ok", "error", "meta"}
        assert envelope["ok"] is False
        assert response.headers["gateway-trace"] == [envelope["meta"]["trace_id"]]


CHECKS = [
    is_an_envelope,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
# Calls that make sense somewhere, which generated strings never do.
SENSIBLE = [
    {"op": "onto.task.list", "args": {}},
    {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}},
    {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "title": "Renamed"}, "dry_run": True},
    {"op": "onto.project.create", "args": {"project": {"name": "P", "type_key": "project.technical.app"}}},
]


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_every_operation_keeps_its_word(described: OpenApiSchema, api: Api, mode: Any) -> None:
    operations = [each.ok() for each in described.get_all_operations()]
    assert len(operations) == 11

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
        def keeps_its_word(case: Any) -> None:
            case.call_and_validate(headers={**api.headers, "Gateway-Subject": DEMO_SUBJECT}, checks=CHECKS)

        keeps_its_word()


def test_sensible_calls_keep_the_word_of_the_document(described: OpenApiSchema, api: Api) -> None:
    operation = described["/api/v1/exec"]["post"]

    for body in SENSIBLE:
        response = operation.Case(body=body, media_type="application/json").call_and_validate(
            headers=api.headers, checks=CHECKS[:4]
        )
        assert response.status_code == 200
