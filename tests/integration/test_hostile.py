"""What strangers and admins may throw at us: each measured hazard has its test, and what is legal but big is cheap."""

import ast
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from gateway.contracts.validation import find_field_errors
from registry.jsonschema import schemas
from tests.support.api import SECRET, Api, refused
from tests.support.cpu_budget import within
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID

pytestmark = pytest.mark.both_databases

TESTS = Path(__file__).resolve().parent.parent
LARGEST = 1_000_000  # bytes of a body
PATIENCE = 10  # how much slower than promised a busy machine may be

# The hazards of RELIABILITY section 1 that exist so far, and the tests that show each closed.
HAZARDS = {
    "1 hostile bodies: depth, shapes, NUL, surrogates, infinities, ranges": [
        "integration/test_parsing.py::test_body_that_is_no_strict_json_object_is_refused_with_the_rule",
        "integration/test_parsing.py::test_body_of_exec_that_is_malformed_is_told_every_fault",
        "integration/test_parsing.py::test_any_json_is_answered_in_json",
        "unit/core/test_strict_json.py::test_loads_answers_any_bytes_with_a_value_or_a_refusal",
        "services/test_raw_requests.py::test_raw_target_and_headers_never_cause_a_fault",
    ],
    "2 a body over the limit is an envelope, before parsing": [
        "integration/test_doors.py::test_door_refuses_a_body_by_its_announced_size_before_the_key",
        "integration/test_routes.py::test_guarded_door_refuses_what_is_too_large_before_it_asks_for_a_key",
        "services/test_raw_requests.py::test_raw_body_is_read_by_its_content_length_or_refused",
    ],
    "3 references to files and hosts": [
        "unit/registry/jsonschema/test_schemas.py::test_no_reference_is_fetched",
        "unit/registry/jsonschema/test_schemas.py::test_problems_refuses_with_a_sentence",
    ],
    "4 validation as an attack": [
        "integration/test_hostile.py::test_schema_that_is_taken_holds_the_worst_instance_in_time",
        "unit/registry/jsonschema/test_schemas.py::test_what_problems_takes_compiles_and_checks_anything_in_time",
        "integration/test_parsing.py::test_field_errors_are_at_most_fifty",
    ],
    "6 exactly once for embedded ops": [
        "integration/test_concurrency.py::test_twenty_twins_have_one_effect_and_one_answer",
        "services/test_writes.py::test_write_has_one_effect_when_twenty_send_one_key_at_once",
    ],
    "7 an event lost between commit and callback": [
        "integration/test_events.py::test_write_is_undone_where_its_event_cannot_be_kept",
    ],
    "8 a second door without the guard": [
        "integration/test_routes.py::test_every_route_has_a_decision_and_every_decision_a_route",
        "integration/test_routes.py::test_every_door_is_one_view_with_all_guards",
    ],
    "9 a crash in the middle": [
        "services/test_writes.py::test_write_of_a_killed_worker_leaves_nothing_and_runs_once_when_sent_again",
    ],
    "10 ids that are none": [
        "integration/test_exec.py::test_id_that_is_none_never_reaches_the_workspace",
    ],
}


@pytest.mark.parametrize("hazard", HAZARDS)
def test_hazard_has_its_tests(hazard: str) -> None:
    for named in HAZARDS[hazard]:
        path, _, name = named.partition("::")
        tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))

        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, named


# --- schemas of admins ------------------------------------------------------------------------------------------------


def of(argument: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": argument}, **more}


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def consts(number: int) -> list[dict[str, Any]]:
    return [{"const": value} for value in range(number)]


def patterns(number: int) -> list[dict[str, Any]]:
    """Return patterns of which each position of MIXED begins a match that ends only much later."""
    return [{"pattern": f"a[ab]{{{20 + least}}}c"} for least in range(number)]


def tree(levels: int) -> dict[str, Any]:
    return {"a": tree(levels - 1), "b": tree(levels - 1)} if levels else {"a": -1}


REFUSED = {
    "a file": of({"$ref": "file:///etc/passwd"}),
    "a host": of({"$ref": "http://169.254.169.254/latest"}),
    "a reference to itself": of({"$ref": "#/properties/a"}),
    "a loop of two": of({"$ref": "#/$defs/b"}, **{"$defs": {"b": {"$ref": "#/$defs/c"}, "c": {"$ref": "#/$defs/b"}}}),
    "a doubling chain": of(
        {"$ref": "#/$defs/d0"},
        **{"$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(30)} | {"d30": {}}},
    ),
    "a giant enum": of({"enum": [f"v{number}" for number in range(10_000)]}),
    "a giant pattern": of({"type": "string", "pattern": "a?" * 5_000}),
    "a pattern that counts too far": of({"type": "string", "pattern": "((a{1,500}){1,500}){1,500}"}),
    "a pattern that looks around": of({"type": "string", "pattern": "(?=a)(a+)+$"}),
    "deep nesting": nested(200),
    "too many subschemas": of({"anyOf": [{"const": number} for number in range(5_000)]}),
    "another dialect": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
}


@pytest.mark.parametrize("bomb", REFUSED)
def test_schema_that_could_harm_is_refused_in_time(bomb: str) -> None:
    problems: list[str] = []

    within(0.25 * PATIENCE, lambda: problems.extend(schemas.find_problems(REFUSED[bomb])))

    assert problems
    assert all(len(problem) < 500 for problem in problems)


TEXT = "a" * 990_000
MIXED = "".join(random.Random(1).choices("ab", k=990_000))
MANY = 9_900  # values of a body, of which parsing takes 10,000

# Schemas that are taken although they look dangerous, and the worst that a body can bring them.
TAKEN: dict[str, tuple[dict[str, Any], Any]] = {
    "nested quantifiers": (of({"type": "string", "pattern": "^(a+)+$"}), {"a": TEXT + "!"}),
    "alternatives that overlap": (of({"type": "string", "pattern": "^(a|a)*b$"}), {"a": TEXT}),
    "anything twice": (of({"type": "string", "pattern": "(.*)*x$"}), {"a": TEXT}),
    "words and blanks": (of({"type": "string", "pattern": "^(\\w+\\s?)*$"}), {"a": TEXT + "!"}),
    "a pattern on many": (of({"type": "array", "items": {"pattern": "^(a+)+$"}}), {"a": ["a" * 90 + "!"] * MANY}),
    "unique numbers": (of({"type": "array", "uniqueItems": True}), {"a": list(range(MANY))}),
    "unique texts": (of({"type": "array", "uniqueItems": True}), {"a": [f"{'a' * 80}{n}" for n in range(MANY)]}),
    "a format on much text": (of({"type": "string", "format": "uuid"}), {"a": TEXT}),
    "unknown arguments": (of({}, additionalProperties=False), {f"x{number}": 1 for number in range(MANY)}),
    "many alternatives for many": (of({"items": {"anyOf": consts(100)}}), {"a": [-1] * MANY}),
    "many demands on many": (of({"items": {"allOf": consts(20)}}), {"a": [-1] * MANY}),
    "many demands on much": (of({}, allOf=consts(500)), {"a": [-1] * MANY}),
    "many alternatives for much": (of({}, anyOf=consts(500)), {"a": [-1] * MANY}),
    "many demands on a long text": (of({"allOf": consts(500)}), {"a": TEXT}),
    "a wrong type of many": (of({"items": {"type": "string"}}), {"a": [-1] * MANY}),
    "patterns of names": (
        {"type": "object", "patternProperties": {f"(a|b)*c{n}[ab]{{20}}$": {} for n in range(200)}},
        {f"{n}{'ab' * 40}": "" for n in range(MANY)},
    ),
    "a pattern of every name": (
        of({}, propertyNames={"allOf": patterns(20)}),
        {MIXED[n:][:99]: 1 for n in range(MANY)},
    ),
    "patterns that a long text keeps open": (of({"allOf": patterns(20)}), {"a": MIXED}),
    "one pattern that a long text keeps open": (of({"pattern": "a[ab]{400}c"}), {"a": MIXED}),
    "a tree in which every branch fails": (
        {"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#"}, *consts(5)]}},
        {"a": tree(9)},
    ),
}


@pytest.mark.parametrize("schema", TAKEN)
def test_schema_that_is_taken_holds_the_worst_instance_in_time(schema: str) -> None:
    made, instance = TAKEN[schema]
    assert schemas.find_problems(made) == []
    assert len(json.dumps(instance)) <= LARGEST + 200_000
    validator = schemas.SchemaValidator(made)

    assert len(find_field_errors(validator, made, instance)) <= 50
    within(0.25 * PATIENCE, lambda: find_field_errors(validator, made, instance))


# --- bodies that are big, and legal -----------------------------------------------------------------------------------

BIG: dict[str, Any] = {
    "one long text": {"task_id": DEMO_TASK_ID, "title": SECRET * (LARGEST // len(SECRET) - 10)},
    "one long id": {"task_id": "a" * (LARGEST - 200)},
    "one long unknown name": {"n" * (LARGEST - 200): 1},
    "unknown arguments": {f"unknown_{number}": 1 for number in range(MANY)},
    "arguments in other spellings": {f"Task-Id{'_' * number}": "x" for number in range(900)},
    "long unknown names": {f"{'n' * 9_000}{number}": 1 for number in range(100)},
    "props": {"task_id": DEMO_TASK_ID, "props": {f"p{number}": "x" * 80 for number in range(MANY)}},
}


@pytest.mark.parametrize("args", BIG)
def test_big_legal_body_is_answered_soon_and_briefly(api: Api, args: str) -> None:
    raw = json.dumps({"op": "onto.task.update", "args": BIG[args]}).encode()
    assert len(raw) <= LARGEST
    began = time.perf_counter()

    response = api.post("exec", raw=raw)

    assert time.perf_counter() - began < 2 * PATIENCE
    assert response.status_code in (200, 400), response.content[:300]
    assert SECRET not in response.content.decode()
    if response.status_code == 400:
        assert len(response.content) < 100_000


def test_thousands_of_field_errors_are_answered_soon_and_briefly(api: Api) -> None:
    project = {"name": "P", "type_key": "project.technical.app"}
    entities = [{"temp_id": 1, "kind": "moon", "title": "", "x": 1, "y": 2} for _ in range(100)]
    entities += [{} for _ in range(5_000)]
    raw = json.dumps({"op": "onto.project.create", "args": {"project": project, "entities": entities}}).encode()
    began = time.perf_counter()

    error = refused(api.post("exec", raw=raw), 400, "invalid_args")

    assert time.perf_counter() - began < 2 * PATIENCE
    assert 1 <= len(error["details"]["field_errors"]) <= 50
    assert len(json.dumps(error)) < 100_000


def test_long_texts_of_help_are_answered_soon_and_briefly(api: Api) -> None:
    for body in ({"path": "a" * 990_000}, {"path": "onto.task.get", "arg": "a" * 900_000}, {"a" * 990_000: 1}):
        began = time.perf_counter()

        response = api.post("help", body)

        assert time.perf_counter() - began < 2 * PATIENCE
        assert response.status_code in (400, 404)
        assert len(response.content) < 100_000


def test_long_name_of_an_op_is_answered_soon_and_briefly(api: Api) -> None:
    began = time.perf_counter()

    response = api.post("exec", {"op": "onto.task." + "a" * 900_000, "args": {"project_id": DEMO_PROJECT_ID}})

    assert time.perf_counter() - began < 2 * PATIENCE
    refused(response, 404, "unknown_op")
    assert len(response.content) < 10_000
