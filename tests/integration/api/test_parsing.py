"""Request bodies: malformed ones are refused with the broken rule and never cause a server error."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.clients.api import SECRET, Api, assert_refused
from tests.support.cpu_budget import examples
from tests.support.loops import for_each
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID

ENDPOINTS = ("help", "exec")

# Bodies, and the reason for which both endpoints refuse them.
MALFORMED_BODIES = [
    (b" ", "invalid_json"),
    (b'{"path": "a", "path": "b"}', "duplicate_key"),
    (b'{"op": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "too_deep"),
    (b'{"op": [' + b"0," * 10_000 + b"0]}", "too_large"),
    (b"[]", "not_an_object"),
]


@for_each("endpoint", ENDPOINTS)
@for_each("raw, reason", MALFORMED_BODIES)
def test_body_that_is_not_a_strict_json_object_is_refused_with_the_rule(
    api: Api, endpoint: str, raw: bytes, reason: str
) -> None:
    error = assert_refused(api.post(endpoint, raw=raw), 400, reason)

    assert error["code"] == "VALIDATION_ERROR"
    assert error["help_path"] == "root"


def test_empty_help_object_gets_the_root_and_an_empty_exec_object_an_example_call_that_works(api: Api) -> None:
    assert api.post("help", {}).json()["path"] == "root"
    error = assert_refused(api.post("exec", {}), 400, "empty_call")

    example = json.loads(error["message"].partition("such as ")[2].removesuffix("."))
    assert api.post("exec", example).status_code in (200, 404)  # the call is valid, but its row may not exist


# Help bodies, and the JSON pointers of their field errors.
MALFORMED_HELP: list[tuple[dict[str, Any], set[str]]] = [
    ({"max_tokens": 0}, {"/max_tokens"}),
    ({"limit": 0}, {"/limit"}),
    ({"path": "onto", "query": "tasks"}, {"/query"}),
    ({"op": "onto.task.get"}, {"/op"}),
    ({"path": 1, "limit": 0, "format": 3, SECRET[:3]: 1}, {"/path", "/limit", "/format", "/" + SECRET[:3]}),
]


@for_each("body, pointers", MALFORMED_HELP)
def test_malformed_help_body_gets_all_field_errors(api: Api, body: dict[str, Any], pointers: set[str]) -> None:
    error = assert_refused(api.post("help", body), 400, "malformed_call")

    assert {each["path"] for each in error["details"]["field_errors"]} == pointers


# Exec bodies, and the JSON pointers of their field errors.
MALFORMED_EXEC: list[tuple[dict[str, Any], set[str]]] = [
    ({"op": 1, "args": 1}, {"/op", "/args"}),
    ({"op": "onto.task.list", "dry_run": "true"}, {"/dry_run"}),
    ({"op": "onto.task.list", "idempotency_key": "two words"}, {"/idempotency_key"}),
    ({"op": "onto.task.list", "arguments": {}}, {"/arguments"}),
    ({"op": "onto.task.list", "args": {}, "x": 1, "y": 2}, {"/x", "/y"}),
    ({"op": "nothing", "confirm_token": "x"}, {"/confirm_token"}),
    ({"op": "onto.task.list", "args": {}, "subject": "demo-colleague"}, {"/subject"}),
]


@for_each("body, pointers", MALFORMED_EXEC)
def test_malformed_exec_body_gets_all_field_errors(api: Api, body: dict[str, Any], pointers: set[str]) -> None:
    error = assert_refused(api.post("exec", body), 400, "malformed_call")

    assert {each["path"] for each in error["details"]["field_errors"]} == pointers


@for_each("number", ["5.0", "5e0", "50e-1"])
def test_whole_number_is_an_integer_in_every_spelling(api: Api, number: str) -> None:
    list_response = api.post("exec", raw=b'{"op": "onto.task.list", "args": {"limit": %s}}' % number.encode())
    help_response = api.post("help", raw=b'{"path": "onto.task", "limit": %s}' % number.encode())

    assert len(list_response.json()["result"]["tasks"]) == 5
    assert len(help_response.json()["items"]) == 5


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([DEMO_TASK_ID, "done"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
exec_bodies = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["onto.task.update", "onto.project.create", "onto.task.list", "create_onto_task"]),
        "args": st.dictionaries(
            st.sampled_from(
                """
    task_id project_id taskId title name description state_key priority due_at start_at props project entities
    limit cursor query type_key
""".split()
            ),
            json_values
            | st.sampled_from([DEMO_PROJECT_ID, "0000-01-01T00:00:00Z", "2016-12-31T23:59:60Z", "high", 3.0]),
            max_size=6,
        ),
    },
    optional={"dry_run": st.just(True)},
)
fuzz_settings = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def test_any_json_body_gets_a_json_response(api: Api) -> None:
    @fuzz_settings
    @given(st.sampled_from(ENDPOINTS), json_values | exec_bodies)
    def check_response(endpoint: str, body: Any) -> None:
        response = api.post(endpoint, raw=json.dumps(body).encode())

        assert response.status_code < 500, response.content
        assert response.json()

    check_response()


def test_any_bytes_get_a_json_response(api: Api) -> None:
    @fuzz_settings
    @given(st.sampled_from(ENDPOINTS), st.binary(min_size=1, max_size=200))
    def check_response(endpoint: str, raw: bytes) -> None:
        response = api.post(endpoint, raw=raw)

        assert response.status_code in (200, 400)
        assert response.json()

    check_response()
