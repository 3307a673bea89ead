"""List the arguments that a schema names directly, through references, or in its allOf, anyOf and oneOf parts."""

from collections.abc import Iterable, Iterator
from typing import Any

from registry.jsonschema import dialect
from registry.jsonschema.dialect import Schema

MAX_DEPTH = 8  # of references and nested parts; deeper arguments are validated, but not shown
MAX_SCHEMAS_PER_ARGUMENT = 50  # different schemas for one argument

_UNION_KEYWORDS = ("anyOf", "oneOf")
_COMPOSITION_KEYWORDS = frozenset(("$ref", "allOf", *_UNION_KEYWORDS, "then", "else", "dependentSchemas"))

SchemasByName = dict[str, list[dict[str, Any]]]


def has_flat_properties(schema: Schema) -> bool:
    """Return whether a schema names all its arguments directly."""
    return _COMPOSITION_KEYWORDS.isdisjoint(schema)


def iter_arguments(schema: Schema, root: Schema | None = None) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield (name, schema, required) for each argument, required ones first.

    `root` is the document that references point into: the schema itself, unless it is part of another one. If several
    parts describe one argument, its schemas are joined under `anyOf`. It is required if all alternatives require it.
    """
    if has_flat_properties(schema):
        own_properties, required_names = _get_own_properties(schema)
    else:
        schemas, required_names = _collect_arguments(schema, root or schema, 0)
        own_properties = {name: _join_schemas(each) for name, each in schemas.items()}
    required = dict.fromkeys(required_names)
    own_properties = own_properties | {name: {} for name in required if name not in own_properties}
    for name in sorted(own_properties, key=lambda name: name not in required):
        yield name, own_properties[name] if isinstance(own_properties[name], dict) else {}, name in required


def list_required_alternatives(schema: Schema) -> list[list[str]]:
    """Return the alternative sets of required arguments. A call must send one of them. Empty if there is no choice."""
    for keyword in _UNION_KEYWORDS:
        parts = [dialect.dereference(schema, part) for part in _get_subschema_list(schema, keyword)]
        alternatives = [sorted(_get_own_properties(part)[1]) for part in parts]
        if (
            len(alternatives) > 1
            and all(alternatives)
            and len({tuple(each) for each in alternatives}) == len(alternatives)
        ):
            return alternatives
    return []


def _get_own_properties(schema: Schema) -> tuple[dict[str, Any], list[str]]:
    own_properties, required = schema.get("properties", {}), schema.get("required", [])
    return own_properties if isinstance(own_properties, dict) else {}, required if isinstance(required, list) else []


def _collect_arguments(schema: Any, root: Schema, depth: int) -> tuple[SchemasByName, list[str]]:
    """Return the schemas of each argument in a schema and its parts, and the names that are required."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return {}, []
    own_properties, required = _get_own_properties(schema)
    schemas: SchemasByName = {name: [each if isinstance(each, dict) else {}] for name, each in own_properties.items()}
    required_names = dict.fromkeys(required)
    all_of = [
        *_get_subschema_list(schema, "allOf"),
        *([dialect.dereference(root, schema)] if "$ref" in schema else []),
    ]
    for part in all_of:
        part_schemas, part_required = _collect_arguments(part, root, depth + 1)
        _merge_schemas(schemas, part_schemas, only_new=True)
        required_names |= dict.fromkeys(part_required)
    for keyword in _UNION_KEYWORDS:
        if branches := [_collect_arguments(part, root, depth + 1) for part in _get_subschema_list(schema, keyword)]:
            alternatives: SchemasByName = {}
            for part_schemas, _ in branches:
                _merge_schemas(alternatives, part_schemas)
            _merge_schemas(schemas, alternatives, only_new=True)
            required_in_all = set(branches[0][1]).intersection(*(part_required for _, part_required in branches))
            required_names |= {name: None for name in branches[0][1] if name in required_in_all}
    for part in [schema.get("then"), schema.get("else"), *dialect.list_subschemas(schema, "dependentSchemas")]:
        _merge_schemas(schemas, _collect_arguments(part, root, depth + 1)[0], only_new=True)
    return schemas, list(required_names)


def _get_subschema_list(schema: Schema, keyword: str) -> list[Any]:
    return parts if isinstance(parts := schema.get(keyword), list) else []


def _merge_schemas(schemas: SchemasByName, additions: SchemasByName, *, only_new: bool = False) -> None:
    """Add schemas of arguments in place. With `only_new`, skip arguments that already have a non-empty schema."""
    for name, new_schemas in additions.items():
        known_schemas = schemas.setdefault(name, [])
        if not only_new or not any(known_schemas):
            known_schemas[:] = _deduplicate_schemas([*known_schemas, *new_schemas])


def _join_schemas(schemas: list[Schema]) -> dict[str, Any]:
    if len(schemas) < 2:
        return schemas[0] if schemas else {}
    description = next((each["description"] for each in schemas if each.get("description")), None)
    return {"anyOf": schemas} | ({"description": description} if description else {})


def _deduplicate_schemas(schemas: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    distinct: list[dict[str, Any]] = []
    for each in schemas:
        if each and len(distinct) < MAX_SCHEMAS_PER_ARGUMENT and each not in distinct:
            distinct.append(each)
    return distinct
