"""Hostile input from callers and admins: each known hazard has its tests, and big legal requests stay cheap."""

import ast
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from gateway.contracts.validation import find_field_errors
from registry.jsonschema import schema_check
from registry.jsonschema.validator import SchemaValidator
from tests.support.clients.api import SECRET, Api, assert_refused
from tests.support.cpu_budget import assert_cpu_seconds
from tests.support.loops import for_each
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID

TESTS = Path(__file__).resolve().parents[2]
MAX_BODY_BYTES = 1_000_000
SLOW_MACHINE_FACTOR = 10  # a busy machine may be this much slower than the limit

# Known hazards, and the tests which show that each is closed.
HAZARDS = {
    "1 hostile bodies: depth, shapes, NUL, surrogates, infinities, ranges": [
        "integration/api/test_parsing.py::test_body_that_is_not_a_strict_json_object_is_refused_with_the_rule",
        "integration/api/test_parsing.py::test_malformed_exec_body_gets_all_field_errors",
        "integration/api/test_parsing.py::test_any_json_body_gets_a_json_response",
        "unit/core/text/test_json_text.py::test_loads_parses_or_refuses_any_bytes",
        "services/test_raw_requests.py::test_raw_target_and_headers_never_cause_a_server_error",
    ],
    "2 a body over the limit is an envelope, before parsing": [
        "unit/gateway/api/test_requests.py::test_check_size_refuses_other_lengths",
        "integration/api/test_routes.py::test_protected_route_refuses_a_large_body_before_it_checks_the_key",
        "services/test_raw_requests.py::test_raw_body_is_read_by_its_content_length_or_refused",
    ],
    "3 references to files and hosts": [
        "unit/registry/jsonschema/test_schema_check.py::test_references_are_never_fetched",
        "unit/registry/jsonschema/test_schema_check.py::test_find_problems_refuses_with_a_sentence",
    ],
    "4 validation as an attack": [
        "integration/api/test_hostile.py::test_accepted_schema_validates_its_worst_instance_in_time",
        "unit/registry/jsonschema/test_schema_check.py::test_accepted_schema_compiles_and_validates_any_instance_in_time",
        "integration/api/test_hostile.py::test_thousands_of_field_errors_get_a_fast_and_short_response",
    ],
    "6 exactly once for embedded ops": [
        "integration/exec/test_concurrency.py::test_twenty_duplicates_have_one_effect_and_one_result",
        "services/test_writes.py::test_write_takes_effect_once_when_twenty_clients_send_one_key",
    ],
    "7 an event lost between commit and callback": [
        "integration/api/test_events.py::test_write_is_undone_when_its_event_cannot_be_stored"
    ],
    "8 a second endpoint without the shared checks": [
        "integration/api/test_routes.py::test_every_route_has_exactly_one_declared_protection",
        "integration/api/test_routes.py::test_every_view_keeps_the_shared_checks",
    ],
    "9 a crash in the middle": [
        "services/test_writes.py::test_write_of_a_killed_worker_is_undone_and_can_be_sent_again"
    ],
    "10 invalid ids": ["integration/exec/test_exec.py::test_invalid_id_is_refused_before_the_workspace_is_queried"],
}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_hazard_names_existing_tests(hazard: str) -> None:
    for test in HAZARDS[hazard]:
        path, _, name = test.partition("::")
        build_tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))

        assert name in {node.name for node in ast.walk(build_tree) if isinstance(node, ast.FunctionDef)}, test


# --- schemas of admins ------------------------------------------------------------------------------------------------


def build_schema(argument: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": argument}, **more}


def build_consts(number: int) -> list[dict[str, Any]]:
    return [{"const": value} for value in range(number)]


def build_slow_patterns(number: int) -> list[dict[str, Any]]:
    """Return patterns for which every position of LONG_MIXED_TEXT starts a match that ends much later."""
    return [{"pattern": f"a[ab]{{{20 + least}}}c"} for least in range(number)]


def build_tree(levels: int) -> dict[str, Any]:
    return {"a": build_tree(levels - 1), "b": build_tree(levels - 1)} if levels else {"a": -1}


LONG_TEXT = "a" * 990_000
LONG_MIXED_TEXT = "".join(random.Random(1).choices("ab", k=990_000))
MANY = 9_900  # values in a body; the parser accepts 10,000

# Schemas that are accepted although they look dangerous, and the worst instance that fits into a body.
ACCEPTED_SCHEMAS: dict[str, tuple[dict[str, Any], Any]] = {
    "nested quantifiers": (build_schema({"type": "string", "pattern": "^(a+)+$"}), {"a": LONG_TEXT + "!"}),
    "alternatives that overlap": (build_schema({"type": "string", "pattern": "^(a|a)*b$"}), {"a": LONG_TEXT}),
    "anything twice": (build_schema({"type": "string", "pattern": "(.*)*x$"}), {"a": LONG_TEXT}),
    "words and blanks": (build_schema({"type": "string", "pattern": "^(\\w+\\s?)*$"}), {"a": LONG_TEXT + "!"}),
    "a pattern on many": (
        build_schema({"type": "array", "items": {"pattern": "^(a+)+$"}}),
        {"a": ["a" * 90 + "!"] * MANY},
    ),
    "unique numbers": (build_schema({"type": "array", "uniqueItems": True}), {"a": list(range(MANY))}),
    "unique texts": (
        build_schema({"type": "array", "uniqueItems": True}),
        {"a": [f"{'a' * 80}{n}" for n in range(MANY)]},
    ),
    "a format on much text": (build_schema({"type": "string", "format": "uuid"}), {"a": LONG_TEXT}),
    "unknown arguments": (build_schema({}, additionalProperties=False), {f"x{number}": 1 for number in range(MANY)}),
    "many alternatives for many": (build_schema({"items": {"anyOf": build_consts(100)}}), {"a": [-1] * MANY}),
    "many demands on many": (build_schema({"items": {"allOf": build_consts(20)}}), {"a": [-1] * MANY}),
    "many demands on much": (build_schema({}, allOf=build_consts(500)), {"a": [-1] * MANY}),
    "many alternatives for much": (build_schema({}, anyOf=build_consts(500)), {"a": [-1] * MANY}),
    "many demands on a long text": (build_schema({"allOf": build_consts(500)}), {"a": LONG_TEXT}),
    "a wrong type of many": (build_schema({"items": {"type": "string"}}), {"a": [-1] * MANY}),
    "patterns of names": (
        {"type": "object", "patternProperties": {f"(a|b)*c{n}[ab]{{20}}$": {} for n in range(200)}},
        {f"{n}{'ab' * 40}": "" for n in range(MANY)},
    ),
    "a pattern of every name": (
        build_schema({}, propertyNames={"allOf": build_slow_patterns(20)}),
        {LONG_MIXED_TEXT[n:][:99]: 1 for n in range(MANY)},
    ),
    "patterns that a long text keeps open": (build_schema({"allOf": build_slow_patterns(20)}), {"a": LONG_MIXED_TEXT}),
    "one pattern that a long text keeps open": (build_schema({"pattern": "a[ab]{400}c"}), {"a": LONG_MIXED_TEXT}),
    "a tree in which every branch fails": (
        {"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#"}, *build_consts(5)]}},
        {"a": build_tree(9)},
    ),
}


@pytest.mark.parametrize("schema", ACCEPTED_SCHEMAS)
def test_accepted_schema_validates_its_worst_instance_in_time(schema: str) -> None:
    schema_dict, instance = ACCEPTED_SCHEMAS[schema]
    assert schema_check.find_problems(schema_dict) == []
    assert len(json.dumps(instance)) <= MAX_BODY_BYTES + 200_000
    validator = SchemaValidator(schema_dict)

    assert len(find_field_errors(validator, instance)) <= 50
    assert_cpu_seconds(0.25 * SLOW_MACHINE_FACTOR, lambda: find_field_errors(validator, instance))


# --- big legal bodies -----------------------------------------------------------------------------------

BIG_ARGS: dict[str, Any] = {
    "one long text": {"task_id": DEMO_TASK_ID, "title": SECRET * (MAX_BODY_BYTES // len(SECRET) - 10)},
    "one long id": {"task_id": "a" * (MAX_BODY_BYTES - 200)},
    "one long unknown name": {"n" * (MAX_BODY_BYTES - 200): 1},
    "unknown arguments": {f"unknown_{number}": 1 for number in range(MANY)},
    "arguments in other spellings": {f"Task-Id{'_' * number}": "x" for number in range(900)},
    "long unknown names": {f"{'n' * 9_000}{number}": 1 for number in range(100)},
    "props": {"task_id": DEMO_TASK_ID, "props": {f"p{number}": "x" * 80 for number in range(MANY)}},
}


@pytest.mark.both_databases
@for_each("args", BIG_ARGS)
def test_big_legal_body_gets_a_fast_and_short_response(api: Api, args: str) -> None:
    raw = json.dumps({"op": "onto.task.update", "args": BIG_ARGS[args]}).encode()
    assert len(raw) <= MAX_BODY_BYTES
    start = time.perf_counter()

    response = api.post("exec", raw=raw)

    assert time.perf_counter() - start < 2 * SLOW_MACHINE_FACTOR
    assert response.status_code in (200, 400), response.content[:300]
    assert SECRET not in response.content.decode()
    if response.status_code == 400:
        assert len(response.content) < 100_000


def test_thousands_of_field_errors_get_a_fast_and_short_response(api: Api) -> None:
    project = {"name": "P", "type_key": "project.technical.app"}
    entities = [{"temp_id": 1, "kind": "moon", "title": "", "x": 1, "y": 2} for _ in range(100)]
    entities += [{} for _ in range(5_000)]
    raw = json.dumps({"op": "onto.project.create", "args": {"project": project, "entities": entities}}).encode()
    start = time.perf_counter()

    error = assert_refused(api.post("exec", raw=raw), 400, "invalid_args")

    assert time.perf_counter() - start < 2 * SLOW_MACHINE_FACTOR
    assert 1 <= len(error["details"]["field_errors"]) <= 50
    assert len(json.dumps(error)) < 100_000


@for_each(
    "endpoint, body",
    [
        ("help", {"path": "a" * 990_000}),
        ("help", {"path": "onto.task.get", "arg": "a" * 900_000}),
        ("help", {"a" * 990_000: 1}),
        ("exec", {"op": "onto.task." + "a" * 900_000, "args": {"project_id": DEMO_PROJECT_ID}}),
    ],
)
def test_long_names_get_a_fast_and_short_response(api: Api, endpoint: str, body: dict[str, Any]) -> None:
    start = time.perf_counter()

    response = api.post(endpoint, body)

    assert time.perf_counter() - start < 2 * SLOW_MACHINE_FACTOR
    assert response.status_code in (400, 404)
    assert len(response.content) < (10_000 if endpoint == "exec" else 100_000)
