"""Argument schemas as a model reads them: a typed signature costs half of the JSON Schema it stands for."""

from collections.abc import Iterator
from typing import Any

from registry import keywords, schemas

MAX_ENUM_SHOWN = 20
FOLDED = {"object": "object", "array": "list"}

# Keywords shown by help on one argument, beside its name, type, requiredness and description.
FACETS = (
    *("enum", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minProperties"),
)


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield (name, schema, required) of each argument, the required ones first."""
    required = schema.get("required", [])
    named = schema.get("properties", {})
    named = named | {name: {} for name in required if name not in named}
    for name in sorted(named, key=lambda name: name not in required):
        yield name, named[name] if isinstance(named[name], dict) else {}, name in required


def short(schema: dict[str, Any], *, fold: bool = False) -> dict[str, str]:
    """Return {argument: signature}, such as {"limit": "integer = 20, max 50"}.

    With `fold`, nested objects and lists are written `object` and `list`.
    """
    return {name: signature(argument, schema, required, fold) for name, argument, required in properties(schema)}


def full(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return [{name, type, required, default?, enum?, description?}] in the order that `short` has."""
    return [_described(name, argument, schema, required) for name, argument, required in properties(schema)]


def one(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """Return everything a schema says of one argument, for help on that argument alone."""
    argument, required = next((found, needed) for named, found, needed in properties(schema) if named == name)
    entry = _described(name, argument, schema, required)
    entry |= {facet: argument[facet] for facet in FACETS if facet in argument}
    if "properties" in argument or "items" in argument:
        entry["schema"] = without_annotations(argument)
    return entry


def signature(argument: dict[str, Any], root: dict[str, Any], required: bool, fold: bool = False) -> str:
    """Return one argument's signature: its type, default, bounds, and `required` where it is."""
    text = _type(argument, root, fold, ())
    if "default" in argument and argument["default"] not in (None, [], {}):
        text += f" = {literal(argument['default'])}"
    parts = [text, *_bounds(argument)]
    return ", ".join([*parts, "required"] if required else parts)


def expected(argument: dict[str, Any], root: dict[str, Any]) -> str:
    """Return what a value of an argument must be: its type and bounds."""
    return ", ".join([_type(argument, root, False, ()), *_bounds(argument)])


def usage(schema: dict[str, Any], example: dict[str, Any] | None) -> dict[str, Any]:
    """Return args that can be sent as they stand once every <placeholder> is filled.

    Holds the required arguments; where those are ids alone, the first other argument of the example joins them, so
    that an update shows a change.
    """
    args = {name: _placeholder(name, argument, schema) for name, argument, required in properties(schema) if required}
    if example and all(name.endswith("_id") for name in args):
        extra = next((name for name in example if name not in args), None)
        if extra is not None:
            args[extra] = example[extra]
    return args


def without_annotations(schema: Any, *, prose: bool = True) -> Any:
    """Return a schema without our annotations and comments, which are not for models; with prose=False also without
    titles, descriptions and examples."""
    hidden = {schemas.VALUE_ALIASES, schemas.VALUE_REFUSALS, "$comment"} | (
        set() if prose else {"title", "description", "examples"}
    )
    return _stripped(schema, hidden, names=False)


def _stripped(value: Any, hidden: set[str], *, names: bool) -> Any:
    if isinstance(value, list):
        return [_stripped(item, hidden, names=False) for item in value]
    if not isinstance(value, dict):
        return value
    # Below `properties` and its like the keys are names: an argument may well be called "description".
    return {
        key: _stripped(item, hidden, names=not names and key in ("properties", "$defs", "patternProperties"))
        for key, item in value.items()
        if names or key not in hidden
    }


def _described(name: str, argument: dict[str, Any], root: dict[str, Any], required: bool) -> dict[str, Any]:
    kind = _type({key: value for key, value in argument.items() if key != "enum"}, root, False, ())
    entry: dict[str, Any] = {"name": name, "type": ", ".join([kind, *_bounds(argument)]), "required": required}
    if argument.get("default") is not None and argument["default"] not in ([], {}, ""):
        entry["default"] = argument["default"]
    if argument.get("enum"):
        entry["enum"] = argument["enum"]
    if argument.get("description"):
        entry["description"] = argument["description"]
    return entry


def _type(schema: Any, root: dict[str, Any], fold: bool, trail: tuple[str, ...]) -> str:
    if not isinstance(schema, dict):
        return "any"
    ref = schema.get("$ref")
    if isinstance(ref, str):
        if ref in trail:
            return "object"  # a recursive part: its own arguments are shown once
        return _type(keywords.resolve(root, ref), root, fold, (*trail, ref))
    if enum := schema.get("enum"):
        return _enum(enum)
    if "const" in schema:
        return literal(schema["const"])
    for union in ("anyOf", "oneOf"):
        if isinstance(schema.get(union), list):
            return "|".join(dict.fromkeys(_type(part, root, fold, trail) for part in schema[union]))
    kinds = schema.get("type", "any")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return "|".join(_one_type(kind, schema, root, fold, trail) for kind in kinds)


def _one_type(kind: str, schema: dict[str, Any], root: dict[str, Any], fold: bool, trail: tuple[str, ...]) -> str:
    if kind == "string":
        return str(schema.get("format", kind))
    if kind in FOLDED and fold:
        return FOLDED[kind]
    if kind == "array":
        return f"[{_type(schema.get('items'), root, fold, trail)}]"
    if kind == "object" and schema.get("properties"):
        members = (
            f"{name}{'' if required else '?'}: {_type(member, root, fold, trail)}"
            for name, member, required in properties(schema)
        )
        return "{" + ", ".join(members) + "}"
    return kind


def _enum(values: list[Any]) -> str:
    shown = "|".join(literal(value) for value in values[:MAX_ENUM_SHOWN])
    return shown if len(values) <= MAX_ENUM_SHOWN else f"{shown}|… {len(values)} values"


def literal(value: Any) -> str:
    """Return a value of an enum as JSON writes it, a string without its quotes."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bounds(argument: dict[str, Any]) -> list[str]:
    """Return the range: `1..5` where it is small, else its ends; that a count begins at 1 goes without saying."""
    low, high = argument.get("minimum"), argument.get("maximum")
    if high is None:
        high = argument.get("maxItems")
    if low is not None and high is not None and high - low < 10:
        return [f"{low}..{high}"]
    found = [] if low in (None, 0, 1) else [f"min {low}"]
    return found if high is None else [*found, f"max {high}"]


def _placeholder(name: str, argument: dict[str, Any], root: dict[str, Any]) -> Any:
    if isinstance(ref := argument.get("$ref"), str):
        target = keywords.resolve(root, ref)
        return _placeholder(name, target, {}) if isinstance(target, dict) else "<any>"
    for keyword in ("default", "const"):
        if keyword in argument:
            return argument[keyword]
    if argument.get("enum"):
        return argument["enum"][0]
    kind = argument.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        return {
            member: _placeholder(member, schema, root) for member, schema, required in properties(argument) if required
        }
    if kind == "array":
        items = argument.get("items")
        return [_placeholder(name, items, root)] if isinstance(items, dict) else []
    if kind in ("integer", "number"):
        return argument.get("minimum", 1)
    if kind == "boolean":
        return True
    return f"<{argument.get('format', name)}>"
