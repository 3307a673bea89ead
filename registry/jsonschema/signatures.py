"""Write argument schemas as typed signatures for models. A signature costs half the tokens of its JSON Schema."""

import re
from dataclasses import dataclass
from typing import Any

from registry.jsonschema import dialect
from registry.jsonschema.arguments import iter_arguments
from registry.jsonschema.dialect import Schema

OTHERS = "*"  # instead of a name: arguments that a schema allows and does not name
MAX_ENUM_SHOWN = 20
MAX_EXPECTED_LENGTH = 200  # characters of a type in an error message
MAX_SHOWN_NUMBER, MAX_SHOWN_ITEMS = 10_000, 20  # from these on, signatures leave out the maximum
MAX_NOTE_LENGTH = 120  # characters of a note after a type
FOLDED_TYPES = {"object": "object", "array": "list"}
MAX_PARTS = 1_000  # schemas expanded in the signatures of one op; a few definitions can expand to millions
MAX_OUTLINED = 4  # members of an object that are named in an outline
MAX_NESTED = 6  # levels of objects and lists within an argument

_NESTING_KEYWORDS = frozenset(("properties", "items", "prefixItems", "anyOf", "oneOf", "allOf", "$ref"))
_TYPE_LIKE_FORMAT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")  # a format that can be shown as a type

# Keywords shown by help on one argument, in addition to name, type, required and description.
FACETS = tuple(
    """
    enum format minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern
    minItems maxItems uniqueItems minProperties
""".split()
)


def format_arguments(
    schema: Schema, *, lean: bool = False, fold: bool = False, outline: bool = False
) -> dict[str, str]:
    """Return {argument: signature}, such as {"limit": "integer = 20, max 50"}; "*" is for all that has no own name.

    With `lean`, nested objects have their rare members only as …, a text with a pattern has its form instead of its
    type, and a required list that can be empty says so. With `fold`, nested objects and lists are shortened to `object`
    and `list`; with `outline`, to the names of their first members: `list of {title, due_at?, …}`.
    """
    formatter = _TypeFormatter(schema, fold, outline, lean)
    signatures = {
        name: _format_signature(argument, formatter, required) for name, argument, required in iter_arguments(schema)
    }
    others = schema.get("additionalProperties")
    if others is True or (isinstance(others, dict) and signatures):
        signatures[OTHERS] = f"{formatter.format_type(others)}, other fields"
    return signatures


def describe_arguments(schema: Schema) -> list[dict[str, Any]]:
    """Return [{name, type, required, default?, enum?, description?}] in the order of `format_arguments`."""
    formatter = _TypeFormatter(schema)
    described = [
        _build_description(name, argument, formatter, required) for name, argument, required in iter_arguments(schema)
    ]
    others = schema.get("additionalProperties")
    if others is True or (isinstance(others, dict) and described):
        described.append({"name": OTHERS, "type": f"{formatter.format_type(others)}, other fields", "required": False})
    return described


def describe_argument(schema: Schema, name: str) -> dict[str, Any]:
    """Return everything a schema says about one argument, for help on that argument."""
    argument, required = next(
        (schema_of_argument, is_required)
        for argument_name, schema_of_argument, is_required in iter_arguments(schema)
        if argument_name == name
    )
    entry = _build_description(name, argument, _TypeFormatter(schema), required)
    entry |= {facet: argument[facet] for facet in FACETS if facet in argument}
    if _NESTING_KEYWORDS & argument.keys():
        entry["schema"] = strip_annotations(argument | dialect.collect_definitions(schema, argument))
    return entry


def format_argument(argument: Schema, root: Schema, required: bool, fold: bool = False) -> str:
    """Return one argument's signature: its type, default, bounds, and `required` if it is."""
    return _format_signature(argument, _TypeFormatter(root, fold), required)


def _format_signature(argument: Schema, formatter: "_TypeFormatter", required: bool) -> str:
    text = formatter.format_type(argument)
    if "default" in argument and argument["default"] not in (None, [], {}):
        text += f" = {format_literal(argument['default'])}"
    parts = [text, *(_format_note(argument) or _format_bounds(argument))]
    if required:
        # Where a call comes next, that a list must be sent does not mean that it needs items.
        parts += ["required", *(["[] if none"] if formatter.lean and argument.get("default") == [] else [])]
    return ", ".join(parts)


def format_expected_value(argument: Schema, root: Schema, *, fold: bool = False) -> str:
    """Return the type and bounds of an argument, for an error message. Long types of objects and lists are folded."""
    expected = _TypeFormatter(root, fold).format_type(argument)
    if len(expected) > MAX_EXPECTED_LENGTH and not fold:
        return format_expected_value(argument, root, fold=True)
    return ", ".join([expected, *_format_bounds(argument)])


def build_usage_args(schema: Schema, example: dict[str, Any] | None) -> dict[str, Any]:
    """Return example args that can be sent once every <placeholder> is filled in.

    They are the required arguments. If those are all ids, the first other argument of the example is added, so that an
    update shows a change.
    """
    args = {
        name: _build_placeholder(name, argument, schema)
        for name, argument, required in iter_arguments(schema)
        if required
    }
    if example and all(name.endswith("_id") for name in args):
        extra = next((name for name in example if name not in args), None)
        if extra is not None:
            args[extra] = example[extra]
    return args


def strip_annotations(schema: Any, *, prose: bool = True) -> Any:
    """Return a schema without our annotations and comments, which are not for models.

    With prose=False, also leave out titles, descriptions and examples.
    """
    hidden = dialect.ANNOTATIONS | {"$comment"} | (set() if prose else {"title", "description", "examples"})
    return _strip_keywords(schema, hidden, names=False)


def _strip_keywords(value: Any, hidden: frozenset[str], *, names: bool) -> Any:
    if isinstance(value, list):
        return [_strip_keywords(item, hidden, names=False) for item in value]
    if not isinstance(value, dict):
        return value
    # The keys under `properties` and similar keywords are names: an argument may be called "description".
    return {
        key: _strip_keywords(item, hidden, names=not names and key in ("properties", "$defs", "patternProperties"))
        for key, item in value.items()
        if names or key not in hidden
    }


def _build_description(name: str, argument: Schema, formatter: "_TypeFormatter", required: bool) -> dict[str, Any]:
    kind = formatter.format_type({key: value for key, value in argument.items() if key != "enum"})
    entry: dict[str, Any] = {
        "name": name,
        "type": ", ".join([kind, *_format_bounds(argument, is_whole=True)]),
        "required": required,
    }
    if argument.get("default") is not None and argument["default"] not in ([], {}, ""):
        entry["default"] = argument["default"]
    if argument.get("enum"):
        entry["enum"] = argument["enum"]
    if argument.get("description"):
        entry["description"] = argument["description"]
    return entry


@dataclass
class _TypeFormatter:
    """Formats the types of one op's arguments with their nesting; past a size limit, the rest is folded."""

    root: Schema
    fold: bool = False
    outline: bool = False
    lean: bool = False
    parts_left: int = MAX_PARTS

    def format_type(self, schema: Any, trail: tuple[str, ...] = (), depth: int = 0) -> str:
        """Return a schema's type. `trail` has the references that led here, so that no loop is followed."""
        if not isinstance(schema, dict):
            return "any"
        self.parts_left -= 1
        if isinstance(ref := schema.get("$ref"), str):
            if ref in trail:
                return "object"  # recursive; its arguments are shown once
            return self.format_type(dialect.resolve_ref(self.root, ref), (*trail, ref), depth)
        if enum := schema.get("enum"):
            return _format_enum(enum)
        if "const" in schema:
            return format_literal(schema["const"])
        for union in ("anyOf", "oneOf"):
            if isinstance(schema.get(union), list) and "properties" not in schema:
                union_type = self._format_union(schema[union], trail, depth)
                if union_type != "any" or "type" not in schema:  # the parts may only list required arguments
                    return union_type
        if isinstance(schema.get("allOf"), list) and not {"type", "properties"} & schema.keys():
            return self._format_all_of(schema, trail, depth)
        kinds = schema.get("type", "object" if "properties" in schema else "any")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return "|".join(self._format_kind(kind, schema, trail, depth) for kind in kinds)

    def _format_union(self, parts: list[Any], trail: tuple[str, ...], depth: int) -> str:
        shown_parts = parts[:MAX_ENUM_SHOWN] if self.parts_left > 0 else parts[:1]
        types = dict.fromkeys(self.format_type(part, trail, depth) for part in shown_parts)
        return "|".join([*types, *(["…"] if len(shown_parts) < len(parts) else [])])

    def _format_all_of(self, schema: Schema, trail: tuple[str, ...], depth: int) -> str:
        """Return the type of an allOf: the members of all parts together, else the first part with a type."""
        if any(iter_arguments(schema, self.root)):
            return self._format_kind("object", schema, trail, depth)
        types = [self.format_type(part, trail, depth) for part in schema["allOf"][:MAX_ENUM_SHOWN]]
        return next((kind for kind in types if kind != "any"), "any")

    def _format_kind(self, kind: str, schema: Schema, trail: tuple[str, ...], depth: int) -> str:
        if kind == "string":
            format_name = schema.get("format")
            if not isinstance(format_name, str) or not _TYPE_LIKE_FORMAT.fullmatch(format_name):
                return kind
            return dialect.FORMAT_NAMES.get(format_name, format_name)
        if kind in FOLDED_TYPES and (self.fold or self.parts_left <= 0 or depth >= MAX_NESTED):
            return FOLDED_TYPES[kind]
        if self.outline and kind in FOLDED_TYPES:
            return self._outline_kind(kind, schema, trail, depth)
        if kind == "array":
            return f"[{self.format_type(schema.get('items'), trail, depth + 1)}]"
        if kind == "object" and (members := self._format_members(schema, trail, depth)):
            return "{" + ", ".join(members) + "}"
        return kind

    def _outline_kind(self, kind: str, schema: Schema, trail: tuple[str, ...], depth: int) -> str:
        """Return an object as the names of its first members, required ones first, and a list as what it holds."""
        if depth > 1:
            return FOLDED_TYPES[kind]
        if kind == "array":
            item = self.format_type(schema.get("items"), trail, depth + 1)
            return FOLDED_TYPES[kind] if item in ("any", "object", "list") else f"list of {item}"
        members = sorted(iter_arguments(schema, self.root), key=lambda member: not member[2])
        names = [
            f"{name}{f': {form}' if (form := _get_form(member)) else ''}" if required else f"{name}?"
            for name, member, required in members
        ]
        shown = names[:MAX_OUTLINED] + (["…"] if len(names) > MAX_OUTLINED else [])
        return "{" + ", ".join(shown) + "}" if shown else kind

    def _format_members(self, schema: Schema, trail: tuple[str, ...], depth: int) -> list[str]:
        members, is_cut = list[str](), False
        for name, member, required in iter_arguments(schema, self.root):
            if self.parts_left <= 0:
                return [*members, "…"]
            if self.lean and not required and member.get(dialect.RARE):
                is_cut = True
                continue
            kind = (self.lean and _get_form(member)) or self.format_type(member, trail, depth + 1)
            members.append(f"{name}{'' if required else '?'}: {kind}")
        return [*members, "…"] if is_cut else members


def _format_enum(values: list[Any]) -> str:
    shown_values = "|".join(format_literal(value) for value in values[:MAX_ENUM_SHOWN])
    return shown_values if len(values) <= MAX_ENUM_SHOWN else f"{shown_values}|… {len(values)} values"


def format_literal(value: Any) -> str:
    """Return a value as JSON, but a string without its quotes."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _format_bounds(argument: Schema, *, is_whole: bool = False) -> list[str]:
    """Return the range: `1..5` if it is small, else its min and max.

    A minimum of 0 or 1 is left out as obvious, and a maximum that hardly any call reaches, unless `is_whole`.
    """
    low, high = argument.get("minimum"), argument.get("maximum")
    if high is None:
        high = _get_max_items(argument)
    elif high >= MAX_SHOWN_NUMBER and not is_whole:
        high = None
    if low is not None and high is not None and high - low < 10:
        return [f"{low}..{high}"]
    bounds = [] if low in (None, 0, 1) else [f"min {low}"]
    return bounds if high is None else [*bounds, f"max {high}"]


def _get_max_items(argument: Schema) -> int | None:
    """Return the maximum number of items, unless it is large or no list of different values has more."""
    number, items = argument.get("maxItems"), argument.get("items")
    if number is None or number >= MAX_SHOWN_ITEMS:
        return None
    choices = items.get("enum") if isinstance(items, dict) else None
    return None if isinstance(choices, list) and len(choices) <= number else int(number)


def _format_note(argument: Schema) -> list[str]:
    note = argument.get(dialect.SHORT_NOTE)
    return [note[:MAX_NOTE_LENGTH]] if isinstance(note, str) and note else []


def _get_form(member: Schema) -> str:
    """Return the note of a text that has a pattern: its form, in fewer words than the pattern; "" without one."""
    return next(iter(_format_note(member)), "") if "pattern" in member else ""


def _build_placeholder(name: str, argument: Schema, root: Schema) -> Any:
    if isinstance(ref := argument.get("$ref"), str):
        target = dialect.resolve_ref(root, ref)
        return _build_placeholder(name, target, {}) if isinstance(target, dict) else "<any>"
    for keyword in ("default", "const"):
        if keyword in argument:
            return argument[keyword]
    if argument.get("enum"):
        return argument["enum"][0]
    kind = argument.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        return {
            member: _build_placeholder(member, schema, root)
            for member, schema, required in iter_arguments(argument)
            if required
        }
    if kind == "array":
        items = argument.get("items")
        return [_build_placeholder(name, items, root)] if isinstance(items, dict) else []
    if kind in ("integer", "number"):
        return max(
            argument.get("minimum", 1), min(1, argument.get("maximum", 1))
        )  # a small one: it may be sent as it is
    if kind == "boolean":
        return True
    return f"<{argument.get('format', name)}>"
