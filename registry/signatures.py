"""Write argument schemas as typed signatures for models. A signature costs half the tokens of its JSON Schema."""

import re
from dataclasses import dataclass
from typing import Any

from registry import keywords, schemas
from registry.arguments import properties

MAX_ENUM_SHOWN = 20
FOLDED = {"object": "object", "array": "list"}
MAX_PARTS = 1_000  # schemas expanded in the signatures of one op; a few definitions can expand to millions
MAX_NESTED = 6  # levels of objects and lists within an argument

_NESTING = frozenset(("properties", "items", "prefixItems", "anyOf", "oneOf", "allOf", "$ref"))
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")  # a format that can be shown as a type

# Keywords shown by help on one argument, in addition to name, type, required and description.
FACETS = (
    *("enum", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minProperties"),
)


def short(schema: dict[str, Any], *, fold: bool = False) -> dict[str, str]:
    """Return {argument: signature}, such as {"limit": "integer = 20, max 50"}.

    With `fold`, nested objects and lists are shortened to `object` and `list`.
    """
    writer = _Writer(schema, fold)
    return {name: _signature(argument, writer, required) for name, argument, required in properties(schema)}


def full(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return [{name, type, required, default?, enum?, description?}] in the order of `format_arguments`."""
    writer = _Writer(schema)
    return [_described(name, argument, writer, required) for name, argument, required in properties(schema)]


def one(schema: dict[str, Any], name: str) -> dict[str, Any]:
    """Return everything a schema says about one argument, for help on that argument."""
    argument, required = next((found, needed) for named, found, needed in properties(schema) if named == name)
    entry = _described(name, argument, _Writer(schema), required)
    entry |= {facet: argument[facet] for facet in FACETS if facet in argument}
    if _NESTING & argument.keys():
        entry["schema"] = without_annotations(argument | keywords.definitions(schema, argument))
    return entry


def signature(argument: dict[str, Any], root: dict[str, Any], required: bool, fold: bool = False) -> str:
    """Return one argument's signature: its type, default, bounds, and `required` if it is."""
    return _signature(argument, _Writer(root, fold), required)


def _signature(argument: dict[str, Any], writer: "_Writer", required: bool) -> str:
    text = writer.type(argument)
    if "default" in argument and argument["default"] not in (None, [], {}):
        text += f" = {literal(argument['default'])}"
    parts = [text, *_bounds(argument)]
    return ", ".join([*parts, "required"] if required else parts)


def expected(argument: dict[str, Any], root: dict[str, Any]) -> str:
    """Return the type and bounds of an argument, for an error message."""
    return ", ".join([_Writer(root).type(argument), *_bounds(argument)])


def usage(schema: dict[str, Any], example: dict[str, Any] | None) -> dict[str, Any]:
    """Return example args that can be sent once every <placeholder> is filled in.

    They are the required arguments. If those are all ids, the first other argument of the example is added, so that an
    update shows a change.
    """
    args = {name: _placeholder(name, argument, schema) for name, argument, required in properties(schema) if required}
    if example and all(name.endswith("_id") for name in args):
        extra = next((name for name in example if name not in args), None)
        if extra is not None:
            args[extra] = example[extra]
    return args


def without_annotations(schema: Any, *, prose: bool = True) -> Any:
    """Return a schema without our annotations and comments, which are not for models.

    With prose=False, leave out titles, descriptions and examples too.
    """
    hidden = {schemas.VALUE_ALIASES, schemas.VALUE_REFUSALS, "$comment"} | (
        set() if prose else {"title", "description", "examples"}
    )
    return _stripped(schema, hidden, names=False)


def _stripped(value: Any, hidden: set[str], *, names: bool) -> Any:
    if isinstance(value, list):
        return [_stripped(item, hidden, names=False) for item in value]
    if not isinstance(value, dict):
        return value
    # The keys under `properties` and similar keywords are names: an argument may be called "description".
    return {
        key: _stripped(item, hidden, names=not names and key in ("properties", "$defs", "patternProperties"))
        for key, item in value.items()
        if names or key not in hidden
    }


def _described(name: str, argument: dict[str, Any], writer: "_Writer", required: bool) -> dict[str, Any]:
    kind = writer.type({key: value for key, value in argument.items() if key != "enum"})
    entry: dict[str, Any] = {"name": name, "type": ", ".join([kind, *_bounds(argument)]), "required": required}
    if argument.get("default") is not None and argument["default"] not in ([], {}, ""):
        entry["default"] = argument["default"]
    if argument.get("enum"):
        entry["enum"] = argument["enum"]
    if argument.get("description"):
        entry["description"] = argument["description"]
    return entry


@dataclass
class _Writer:
    """Formats the types of one op's arguments with their nesting; past a size limit, the rest is folded."""

    root: dict[str, Any]
    fold: bool = False
    left: int = MAX_PARTS

    def type(self, schema: Any, trail: tuple[str, ...] = (), depth: int = 0) -> str:
        """Return a schema's type. `trail` has the references that led here, so that no loop is followed."""
        if not isinstance(schema, dict):
            return "any"
        self.left -= 1
        if isinstance(ref := schema.get("$ref"), str):
            if ref in trail:
                return "object"  # recursive; its arguments are shown once
            return self.type(keywords.resolve(self.root, ref), (*trail, ref), depth)
        if enum := schema.get("enum"):
            return _enum(enum)
        if "const" in schema:
            return literal(schema["const"])
        for union in ("anyOf", "oneOf"):
            if isinstance(schema.get(union), list) and "properties" not in schema:
                found = self._union(schema[union], trail, depth)
                if found != "any" or "type" not in schema:  # the parts may only list required arguments
                    return found
        if isinstance(schema.get("allOf"), list) and not {"type", "properties"} & schema.keys():
            return self._all(schema, trail, depth)
        kinds = schema.get("type", "object" if "properties" in schema else "any")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return "|".join(self._one(kind, schema, trail, depth) for kind in kinds)

    def _union(self, parts: list[Any], trail: tuple[str, ...], depth: int) -> str:
        shown = parts[:MAX_ENUM_SHOWN] if self.left > 0 else parts[:1]
        found = dict.fromkeys(self.type(part, trail, depth) for part in shown)
        return "|".join([*found, *(["…"] if len(shown) < len(parts) else [])])

    def _all(self, schema: dict[str, Any], trail: tuple[str, ...], depth: int) -> str:
        """Return the type of an allOf: the members of all parts together, else the first part with a type."""
        if any(properties(schema, self.root)):
            return self._one("object", schema, trail, depth)
        found = [self.type(part, trail, depth) for part in schema["allOf"][:MAX_ENUM_SHOWN]]
        return next((kind for kind in found if kind != "any"), "any")

    def _one(self, kind: str, schema: dict[str, Any], trail: tuple[str, ...], depth: int) -> str:
        if kind == "string":
            named = schema.get("format")
            return named if isinstance(named, str) and _NAME.fullmatch(named) else kind
        if kind in FOLDED and (self.fold or self.left <= 0 or depth >= MAX_NESTED):
            return FOLDED[kind]
        if kind == "array":
            return f"[{self.type(schema.get('items'), trail, depth + 1)}]"
        if kind == "object" and (members := self._members(schema, trail, depth)):
            return "{" + ", ".join(members) + "}"
        return kind

    def _members(self, schema: dict[str, Any], trail: tuple[str, ...], depth: int) -> list[str]:
        found: list[str] = []
        for name, member, required in properties(schema, self.root):
            if self.left <= 0:
                return [*found, "…"]
            found.append(f"{name}{'' if required else '?'}: {self.type(member, trail, depth + 1)}")
        return found


def _enum(values: list[Any]) -> str:
    shown = "|".join(literal(value) for value in values[:MAX_ENUM_SHOWN])
    return shown if len(values) <= MAX_ENUM_SHOWN else f"{shown}|… {len(values)} values"


def literal(value: Any) -> str:
    """Return a value as JSON, but a string without its quotes."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _bounds(argument: dict[str, Any]) -> list[str]:
    """Return the range: `1..5` if it is small, else its min and max. A minimum of 0 or 1 is left out as obvious."""
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
