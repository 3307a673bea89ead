"""Check the argument schemas that admins and imports send.

Schemas are untrusted input: one can refer to a remote URL, recurse without end or take exponential time. So a schema
is walked before it is compiled, and compiled before it is published.
"""

from typing import Any

import jsonschema_rs

from registry.jsonschema import dialect as keywords
from registry.jsonschema import validation_cost
from registry.jsonschema.dialect import DIALECT, Schema
from registry.jsonschema.validator import NOT_JSON, RemoteReference, SchemaValidator, shorten_message

MAX_DEPTH = 16  # subschemas
MAX_NESTED_VALUES = 64  # levels of all values, such as defaults and examples
MAX_SUBSCHEMAS = 2_000
MAX_ENUM = 500
MAX_PATTERN = 500


class UnusableSchema(Exception):
    """A schema cannot be published. `problems` has one sentence for each reason."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = problems


def build_validator(schema: object) -> SchemaValidator:
    """Return a validator for an untrusted argument schema. Raises UnusableSchema."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise UnusableSchema(['The schema must be an object with "type": "object", because args are an object.'])
    if hazards := find_hazards(schema):
        raise UnusableSchema(hazards)
    try:
        return SchemaValidator(schema)
    except jsonschema_rs.ValidationError as error:
        location = "/".join(str(part) for part in error.instance_path) or "the top"
        raise UnusableSchema(
            [f"The schema is not valid JSON Schema 2020-12 at {location}: {shorten_message(error)}."]
        ) from None
    except (RemoteReference, jsonschema_rs.ReferencingError):
        problem = "The schema refers to something outside itself. Copy that under $defs."
        raise UnusableSchema([problem]) from None
    except ValueError:  # half a surrogate pair
        raise UnusableSchema([f"The schema {NOT_JSON}"]) from None


def find_problems(schema: object) -> list[str]:
    """Return what is wrong with an argument schema, one sentence each. Empty if it can be published."""
    try:
        build_validator(schema)
    except UnusableSchema as error:
        return error.problems
    return []


def find_hazards(schema: Schema) -> list[str]:
    """Return why a schema must not be compiled, one sentence each: its depth, size, references or cost."""
    return _find_shape_problems(schema) or _find_nesting_problems(schema) or _find_cost_problems(schema)


def _find_nesting_problems(root: Schema) -> list[str]:
    """Return a problem for values of any keyword, such as a default, with more levels than other code can walk."""
    level: list[Any] = [root]
    for _ in range(MAX_NESTED_VALUES):
        level = [
            each
            for item in level
            for each in (item.values() if isinstance(item, dict) else item)
            if isinstance(each, dict | list)
        ]
        if not level:
            return []
    return [f"The schema has a value that is nested more than {MAX_NESTED_VALUES} levels deep. Use fewer levels."]


def _find_shape_problems(root: Schema) -> list[str]:
    """Return problems with the depth, the number of subschemas, references and unsupported keywords."""
    problems_found: list[str] = []
    visited: set[int] = set()
    references: list[str] = []
    for schema, depth in keywords.iter_subschemas(root):
        visited.add(id(schema))
        if depth > MAX_DEPTH:
            return [f"The schema is nested more than {MAX_DEPTH} levels deep. Use fewer levels."]
        if len(visited) > MAX_SUBSCHEMAS:
            return [f"The schema has more than {MAX_SUBSCHEMAS} subschemas. Make it smaller."]
        problems_found += _find_keyword_problems(schema)
        if isinstance(ref := schema.get("$ref"), str):
            references.append(ref)
    return problems_found + [problem for ref in references for problem in _find_reference_problems(ref, root, visited)]


def _find_reference_problems(ref: str, root: Schema, visited: set[int]) -> list[str]:
    if not ref.startswith("#"):
        return ["A $ref points outside the schema. Copy its target under $defs."]
    target = keywords.resolve_ref(root, ref)
    # Only visited subschemas were checked, so a reference must point to one of them.
    if target is None or (isinstance(target, dict) and id(target) not in visited):
        return [f"The reference {ref[:80]} has no target. Define it under $defs."]
    return []


def _find_keyword_problems(schema: Schema) -> list[str]:
    problems_found = []
    dialect = schema.get("$schema", DIALECT)
    if dialect not in (DIALECT, DIALECT + "#"):
        problems_found.append(f"The dialect {str(dialect)[:80]} is not supported. Use JSON Schema 2020-12.")
    if any(keyword in schema for keyword in ("$dynamicRef", "$dynamicAnchor", "$id", "$anchor")):
        problems_found.append("$id, $anchor and $dynamicRef are not supported. Use #/$defs/name.")
    if isinstance(enum := schema.get("enum"), list) and len(enum) > MAX_ENUM:
        problems_found.append(
            f"An enum has more than {MAX_ENUM} values. Use a string, and let another op list the values."
        )
    if isinstance(pattern := schema.get("pattern"), str) and len(pattern) > MAX_PATTERN:
        problems_found.append(f"A pattern is longer than {MAX_PATTERN} characters. Make it shorter.")
    return problems_found


def _find_cost_problems(root: Schema) -> list[str]:
    try:
        if validation_cost.bound_applications(root) > validation_cost.MAX_APPLICATIONS:
            return ["The schema's references multiply too much to check in time. Refer to each part once."]
    except validation_cost.EndlessReference:
        return ["A reference loops back to itself, or passes through too many others. Refer to an actual schema."]
    return []
