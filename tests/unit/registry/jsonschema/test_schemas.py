"""Argument schemas from strangers: each way to break serving is refused with a sentence, the rest is taken."""

import socket
import threading
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, given, settings

from registry.jsonschema import schemas
from tests.support.cpu_budget import within
from tests.support.op_entries import schema
from tests.support.schema_samples import JSON, LIST, SCHEMAS, TREE


def twice(ref: str) -> dict[str, Any]:
    return {"anyOf": [{"$ref": ref}, {"type": "object", "$ref": ref}]}


def chain(length: int) -> dict[str, Any]:
    """Return definitions of which each refers to the next one twice: 2**length applications."""
    links = {f"d{n}": twice(f"#/$defs/d{n + 1}") for n in range(length)}
    return schema(a={"$ref": "#/$defs/d0"}) | {"$defs": links | {f"d{length}": {"type": "string"}}}


def tower(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string"}
    for _ in range(depth - 1):
        found = {"type": "object", "properties": {"a": found}}
    return found


def unevaluated(length: int) -> dict[str, Any]:
    links: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}], "unevaluatedProperties": False} for n in range(length)
    }
    return schema(a={"$ref": "#/$defs/d0"}) | {"$defs": links | {f"d{length}": {}}}


REFUSED = [
    # no object
    ([], "must be an object"),
    (None, "must be an object"),
    (True, "must be an object"),
    ({}, "must be an object"),
    ({"type": "array"}, "must be an object"),
    ({"type": ["object", "null"]}, "must be an object"),
    # not valid
    (schema(a={"type": "text"}), "not valid JSON Schema 2020-12 at properties/a/type"),
    (schema(a=5), "not valid JSON Schema 2020-12 at properties/a"),
    (schema(a={"minLength": -1}), "at properties/a/minLength"),
    ({"type": "object", "required": "a"}, "at required"),
    (schema(a={"$ref": 5}), "not valid JSON Schema"),
    # references
    (schema(a={"$ref": "https://example.com/s.json"}), "points outside"),
    (schema(a={"$ref": "file:///etc/passwd"}), "points outside"),
    (schema(a={"$ref": "other.json#/a"}), "points outside"),
    (schema(a={"$ref": schemas.DIALECT}), "points outside"),
    (schema(a={"$ref": "#/$defs/none"}), "has no target"),
    (schema(a={"$ref": "#/allOf/²"}) | {"allOf": [{}]}, "has no target"),
    (schema(a={"$ref": "#anchor"}), "has no target"),
    (schema(a={"$ref": "#/x-parts/a"}) | {"x-parts": {"a": {"$id": "http://h/"}}}, "has no target"),
    (schema(a={"$ref": "#/x-parts/a"}) | {"x-parts": {"a": {"pattern": "a" * 501}}}, "has no target"),
    (schema(a={"$ref": "#/properties/a"}), "loops back to itself"),
    (schema(a={"allOf": [{"$ref": "#/properties/a"}]}), "loops back to itself"),
    (schema(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}, "loops back to itself"),
    ({"type": "object", "allOf": [{"$ref": "#"}]}, "loops back to itself"),
    (
        schema(a={"$ref": "#/$defs/a%20b"}) | {"$defs": {"a%20b": True, "a b": twice("#/$defs/a%20b")}},
        "loops back to itself",  # as the compiler reads it, percent-encoded
    ),
    (schema(a={"$id": "https://example.com/a"}), "are not supported"),
    (schema(a={"$anchor": "a"}), "are not supported"),
    (schema(a={"$dynamicRef": "#a"}), "are not supported"),
    (schema(a={"$dynamicAnchor": "a"}), "are not supported"),
    (schema() | {"$schema": "http://json-schema.org/draft-07/schema#"}, "dialect"),
    (schema(a={"$schema": "https://example.com/own"}), "dialect"),
    # cost
    (chain(30), "multiply"),
    (chain(13), "multiply"),
    (unevaluated(20), "multiply"),
    (
        schema(a={"$ref": "#/$defs/n"})
        | {"$defs": {"n": {"anyOf": [{"items": {"$ref": "#/$defs/n"}}, {"contains": {"$ref": "#/$defs/n"}}]}}},
        "multiply",  # doubles with every level of the instance
    ),
    (schema(a={"dependencies": {"x": {"$ref": "#/properties/a"}}}), "loops back to itself"),
    (tower(17), "nested more than 16"),
    (tower(5_000), "nested more than 16"),
    (schema(**{f"a{n}": {} for n in range(2_000)}), "more than 2000 subschemas"),
    (schema(a={"enum": list(range(501))}), "enum has more than 500"),
    (schema(a={"pattern": "a" * 501}), "longer than 500"),
    (schema(a={"pattern": "(a{1000}){1000}"}), "at properties/a/pattern"),
    # patterns that take more than linear time
    (schema(a={"pattern": "(?=a)b"}), "at properties/a/pattern"),
    (schema(a={"pattern": "(?<!a)b"}), "at properties/a/pattern"),
    (schema(a={"pattern": r"(a)\1"}), "at properties/a/pattern"),
    (schema() | {"patternProperties": {"(?!a)": {}}}, "at patternProperties"),
    # text that cannot be sent
    (schema(a={"description": "\ud800"}), "JSON cannot represent"),
    (schema(**{"\udfff": {}}), "JSON cannot represent"),
]


@pytest.mark.parametrize(("refused", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_problems_refuses_with_a_sentence(refused: Any, sentence: str) -> None:
    found = schemas.find_problems(refused)

    assert any(sentence in problem for problem in found), found
    assert all(problem.endswith(".") for problem in found)


@pytest.mark.parametrize(
    "taken",
    [
        schemas.no_arguments(),
        {"type": "object"},
        schema() | {"$schema": schemas.DIALECT},
        LIST,
        TREE,
        chain(5),
        unevaluated(3),
        tower(16),
        schema(a={"enum": list(range(500))}, b={"pattern": "a" * 500}),
        schema(**{f"a{n}": {} for n in range(1_999)}),
        schema(a={"pattern": "^(a+)+$"}),  # in linear time here
        schema(a={"type": ["string", "null"], "format": "date-time"}),
        schema(a={"$ref": "#/$defs/a~1b~0c%20d"}) | {"$defs": {"a/b~c d": {"type": "string"}}},
        schema(a={"type": "string"}, b={"$ref": "#/properties/a"}),
        schema(a={"type": "object", "properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}}}),
        schema(a={"const": {"$ref": "https://example.com"}}),  # data, no reference
        schema(a={"x-aliases": {"low": 5}, "examples": [{"$id": "x"}]}),
        schema(a={"items": {"$ref": "#"}}),
    ],
    ids=range(18),
)
def test_problems_takes_ordinary_schemas(taken: dict[str, Any]) -> None:
    assert schemas.find_problems(taken) == []
    schemas.compile_schema(taken)


def test_recursive_schemas_hold_instances_to_what_they_say() -> None:
    deep: dict[str, Any] = {"name": "leaf"}
    for _ in range(28):
        deep = {"name": "node", "left": deep, "children": [{"name": "child"}]}

    assert schemas.find_instance_problems(TREE, {"root": deep}) == []
    assert schemas.find_instance_problems(TREE, {"root": {"name": "a", "left": {"name": 5}}}) == [
        '/root/left/name: 5 is not of type "string".'
    ]


def test_instance_problems_are_capped_and_name_the_place() -> None:
    many = schema(a={"type": "array", "items": {"type": "string"}})

    found = schemas.find_instance_problems(many, {"a": list(range(100))})

    assert len(found) == 20
    assert found[0].startswith("/a/0: ")


def test_instance_problems_cut_what_is_long_and_refuse_what_cannot_be_sent() -> None:
    closed = schema(a={"type": "integer"})

    assert len(schemas.find_instance_problems(closed, {"a": "x" * 100_000})[0]) < 250
    assert schemas.find_instance_problems(closed, {"a": "\ud800"}) == [
        "/: The value has text or a number that JSON cannot represent. Delete it."
    ]


def test_instance_problems_ignore_the_names_they_are_told() -> None:
    closed = schema(a={"type": "integer"})

    assert schemas.find_instance_problems(closed, {"a": 1, "task_title": "x"}, ignoring={"task_title"}) == []
    assert schemas.find_instance_problems(closed, {"a": 1, "task_title": "x"})


@pytest.mark.parametrize(
    ("format_", "good", "bad"),
    [
        ("uuid", "0D9A4C1E-5b7f-4e2a-9c31-6f8e2b7d1a01", "0d9a4c1e"),
        ("date-time", "2026-03-01T09:00:00Z", "2026-03-01"),
        ("date", "2026-02-28", "2026-02-30"),
        ("iso-date-time", "2026-03-01T09:00", "2026-03-01"),
        ("iso-date-time", "2026-03-01T09:00:00.5", "2026-02-30T09:00"),
        ("iso-date-time", "2026-03-01t09:00:00z", "2026-03-01T09"),
        ("iso-date-time", "2026-03-01T09:00-05:00", "2026-03-01 09:00"),
        ("iso-date-time", "2026-03-01T09:00:00+02:00", "20260301T0900"),
        ("iso-date-time", "2026-03-01T09:00:00", "2026-W10-1T09:00"),
        ("iso-date-or-date-time", "2026-03-01", "2026-02-30"),
        ("iso-date-or-date-time", "2026-03-01T09:00", "2026-03-01T"),
        ("iso-date-or-date-time", "2026-03-01T09:00:00+02:00", "20260301"),
        ("email", "a@example.com", "a"),
    ],
)
def test_formats_are_asserted(format_: str, good: str, bad: str) -> None:
    formatted = schema(a={"type": "string", "format": format_})

    assert schemas.find_instance_problems(formatted, {"a": good}) == []
    assert schemas.find_instance_problems(formatted, {"a": bad})


@pytest.fixture
def canary() -> Any:
    """A server on the loopback that counts who comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        seen: list[Any] = []
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                try:
                    seen.append(server.accept()[1])
                except TimeoutError:
                    continue

        watcher = threading.Thread(target=watch)
        watcher.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/schema.json", seen
        done.set()
        watcher.join()


def test_no_reference_is_fetched(canary: Any) -> None:
    url, seen = canary
    remote = [schema(a={"$ref": url}), schema(a={"allOf": [{"$ref": f"{url}#/a"}]}), schema() | {"$schema": url}]
    for hostile in remote:
        assert schemas.find_problems(hostile)
    for hostile in remote[:2]:
        with pytest.raises((schemas.RemoteReference, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError)):
            schemas.compile_schema(hostile)

    assert seen == []


@given(JSON | SCHEMAS)
def test_problems_never_raises(anything: Any) -> None:
    assert all(isinstance(problem, str) for problem in schemas.find_problems(anything))


def bushy(depth: int) -> Any:
    """Return an instance of `depth` levels with every name and a list at each."""
    found: Any = "a" * 30
    for _ in range(depth):
        found = {"a": found, "b": [found, 1], "d": "x"} if depth < 6 else {"a": [found, 1], "b": {}}
    return found


@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(SCHEMAS, JSON)
def test_what_problems_takes_compiles_and_checks_anything_in_time(made: Any, instance: Any) -> None:
    assume(schemas.find_problems(made) == [])

    def check() -> None:
        for checked in (instance, bushy(3), bushy(14), [bushy(3)] * 50):
            schemas.find_instance_problems(made, checked)

    within(5, check)  # exponential is minutes
