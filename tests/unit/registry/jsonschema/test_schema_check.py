"""Imported argument schemas: those that could break serving are refused with a reason, all others are accepted."""

import socket
import threading
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, given, settings

from registry.jsonschema import dialect, schema_check, validator
from tests.support.cpu_budget import assert_cpu_seconds
from tests.support.rows.op_entries import build_schema
from tests.support.values.schema_samples import JSON, LIST, SCHEMAS, TREE


def refer_twice(ref: str) -> dict[str, Any]:
    return {"anyOf": [{"$ref": ref}, {"type": "object", "$ref": ref}]}


def chain(length: int) -> dict[str, Any]:
    """Return definitions that each refer to the next one twice: 2**length applications."""
    links = {f"d{n}": refer_twice(f"#/$defs/d{n + 1}") for n in range(length)}
    return build_schema(a={"$ref": "#/$defs/d0"}) | {"$defs": links | {f"d{length}": {"type": "string"}}}


def make_nested_schema(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth - 1):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def unevaluated(length: int) -> dict[str, Any]:
    links: dict[str, Any] = {
        f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}], "unevaluatedProperties": False} for n in range(length)
    }
    return build_schema(a={"$ref": "#/$defs/d0"}) | {"$defs": links | {f"d{length}": {}}}


REFUSED = [
    # not an object
    ([], "must be an object"),
    ({"type": ["object", "null"]}, "must be an object"),
    # not valid
    (build_schema(a={"type": "text"}), "not valid JSON Schema 2020-12 at properties/a/type"),
    (build_schema(a=5), "not valid JSON Schema 2020-12 at properties/a"),
    # references
    (build_schema(a={"$ref": "https://example.com/s.json"}), "points outside"),
    (build_schema(a={"$ref": "file:///etc/passwd"}), "points outside"),
    (build_schema(a={"$ref": dialect.DIALECT}), "points outside"),
    (build_schema(a={"$ref": "#/$defs/none"}), "has no target"),
    (build_schema(a={"$ref": "#/allOf/²"}) | {"allOf": [{}]}, "has no target"),
    (build_schema(a={"$ref": "#anchor"}), "has no target"),
    (build_schema(a={"$ref": "#/x-parts/a"}) | {"x-parts": {"a": {"$id": "http://h/"}}}, "has no target"),
    (build_schema(a={"$ref": "#/x-parts/a"}) | {"x-parts": {"a": {"pattern": "a" * 501}}}, "has no target"),
    (build_schema(a={"$ref": "#/properties/a"}), "loops back to itself"),
    (build_schema(a={"allOf": [{"$ref": "#/properties/a"}]}), "loops back to itself"),
    (build_schema(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}}, "loops back to itself"),
    ({"type": "object", "allOf": [{"$ref": "#"}]}, "loops back to itself"),
    (
        build_schema(a={"$ref": "#/$defs/a%20b"}) | {"$defs": {"a%20b": True, "a b": refer_twice("#/$defs/a%20b")}},
        "loops back to itself",  # percent-encoded, as the compiler reads it
    ),
    (build_schema(a={"$id": "https://example.com/a"}), "are not supported"),
    (build_schema(a={"$anchor": "a"}), "are not supported"),
    (build_schema(a={"$dynamicRef": "#a"}), "are not supported"),
    (build_schema() | {"$schema": "http://json-schema.org/draft-07/schema#"}, "dialect"),
    (build_schema(a={"$schema": "https://example.com/own"}), "dialect"),
    # cost
    (chain(30), "multiply"),
    (unevaluated(20), "multiply"),
    (
        build_schema(a={"$ref": "#/$defs/n"})
        | {"$defs": {"n": {"anyOf": [{"items": {"$ref": "#/$defs/n"}}, {"contains": {"$ref": "#/$defs/n"}}]}}},
        "multiply",  # cost doubles with every level of the instance
    ),
    (build_schema(a={"dependencies": {"x": {"$ref": "#/properties/a"}}}), "loops back to itself"),
    (make_nested_schema(17), "nested more than 16"),
    (build_schema(**{f"a{n}": {} for n in range(2_000)}), "more than 2000 subschemas"),
    (build_schema(a={"enum": list(range(501))}), "enum has more than 500"),
    (build_schema(a={"pattern": "a" * 501}), "longer than 500"),
    (build_schema(a={"pattern": "(a{1000}){1000}"}), "at properties/a/pattern"),
    # patterns that take more than linear time
    (build_schema(a={"pattern": "(?=a)b"}), "at properties/a/pattern"),
    (build_schema(a={"pattern": r"(a)\1"}), "at properties/a/pattern"),
    (build_schema() | {"patternProperties": {"(?!a)": {}}}, "at patternProperties"),
    # text that cannot be sent
    (build_schema(a={"description": "\ud800"}), "JSON cannot represent"),
    (build_schema(**{"\udfff": {}}), "JSON cannot represent"),
]


@pytest.mark.parametrize(("refused", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_find_problems_refuses_with_a_sentence(refused: Any, sentence: str) -> None:
    problems = schema_check.find_problems(refused)

    assert any(sentence in problem for problem in problems), problems
    assert all(problem.endswith(".") for problem in problems)


@pytest.mark.parametrize(
    "schema",
    [
        dialect.build_empty_schema(),
        {"type": "object"},
        build_schema() | {"$schema": dialect.DIALECT},
        LIST,
        TREE,
        chain(5),
        unevaluated(3),
        make_nested_schema(16),
        build_schema(a={"enum": list(range(500))}, b={"pattern": "a" * 500}),
        build_schema(**{f"a{n}": {} for n in range(1_999)}),
        build_schema(a={"pattern": "^(a+)+$"}),  # linear time with our engine
        build_schema(a={"type": ["string", "null"], "format": "date-time"}),
        build_schema(a={"$ref": "#/$defs/a~1b~0c%20d"}) | {"$defs": {"a/b~c d": {"type": "string"}}},
        build_schema(a={"type": "string"}, b={"$ref": "#/properties/a"}),
        build_schema(a={"type": "object", "properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}}}),
        build_schema(a={"const": {"$ref": "https://example.com"}}),  # data, not a reference
        build_schema(a={"x-aliases": {"low": 5}, "examples": [{"$id": "x"}]}),
        build_schema(a={"items": {"$ref": "#"}}),
    ],
    ids=range(18),
)
def test_find_problems_accepts_ordinary_schemas(schema: dict[str, Any]) -> None:
    assert schema_check.find_problems(schema) == []
    validator.compile_schema(schema)


@pytest.fixture
def canary() -> Any:
    """A loopback server that counts its connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        addresses: list[Any] = []
        done = threading.Event()

        def accept_connections() -> None:
            while not done.is_set():
                try:
                    addresses.append(server.accept()[1])
                except TimeoutError:
                    continue

        watcher = threading.Thread(target=accept_connections)
        watcher.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/schema.json", addresses
        done.set()
        watcher.join()


def test_references_are_never_fetched(canary: Any) -> None:
    url, addresses = canary
    remote = [
        build_schema(a={"$ref": url}),
        build_schema(a={"allOf": [{"$ref": f"{url}#/a"}]}),
        build_schema() | {"$schema": url},
    ]
    for hostile in remote:
        assert schema_check.find_problems(hostile)
    for hostile in remote[:2]:
        with pytest.raises((validator.RemoteReference, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError)):
            validator.compile_schema(hostile)

    assert addresses == []


@given(JSON | SCHEMAS)
def test_find_problems_never_raises(anything: Any) -> None:
    assert all(isinstance(problem, str) for problem in schema_check.find_problems(anything))


def make_deep_instance(depth: int) -> Any:
    """Return an instance of `depth` levels with every name and a list on each level."""
    instance: Any = "a" * 30
    for _ in range(depth):
        instance = {"a": instance, "b": [instance, 1], "d": "x"} if depth < 6 else {"a": [instance, 1], "b": {}}
    return instance


@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(SCHEMAS, JSON)
def test_accepted_schema_compiles_and_validates_any_instance_in_time(schema: Any, instance: Any) -> None:
    assume(schema_check.find_problems(schema) == [])

    def check() -> None:
        for checked in (instance, make_deep_instance(3), make_deep_instance(14), [make_deep_instance(3)] * 50):
            validator.find_instance_problems(schema, checked)

    assert_cpu_seconds(5, check)  # exponential validation takes minutes
