"""The parameters of an operation as the arguments of an op."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from registry.imports.openapi import swagger
from registry.imports.openapi.references import Located, References
from registry.imports.openapi.requests.path_templates import PathTemplate
from registry.imports.openapi.schemas import SchemaConverter
from registry.request_mapping import LOCATIONS, STYLES, is_header_allowed
from registry.text.tool_name_words import NumberedNames, split_name

MAX_NAME = 64
_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")
Schema = dict[str, Any]

# Headers that the specification or the gateway sets. A model cannot choose them.
_IGNORED_HEADERS = frozenset(("accept", "content-type", "authorization"))
IDEMPOTENCY_HEADERS = frozenset(("idempotency-key", "x-idempotency-key"))


@dataclass(slots=True)
class Argument:
    """One argument: its name at the upstream, where it goes, its schema, and its part of the request mapping.

    `mapping` is the entry of a parameter, or of a property of the body; for a whole body it is empty.
    """

    wire_name: str
    location: str  # path, query, header, cookie, property or body
    schema: Schema
    is_required: bool
    mapping: dict[str, Any] = field(default_factory=dict)
    example: Any = None
    has_example: bool = False
    name: str = ""  # once `assign_names` has chosen it


def assign_names(arguments: Iterable[Argument]) -> None:
    """Give each argument a name that a model can send. If two have the same, the place of one is appended.

    Properties of the body keep theirs: there are more of them, and examples of bodies use them.
    """
    taken: set[str] = set()
    numbered = NumberedNames()
    for argument in sorted(arguments, key=lambda each: each.location not in ("property", "body")):
        base = _clean_name(argument.wire_name)
        free = next((name for name in (base, f"{base}_{argument.location}") if name not in taken), "")
        argument.name = free or numbered.find_free(base, lambda name: name not in taken)
        taken.add(argument.name)


def build_schema(arguments: Iterable[Argument], additional: Schema | None = None) -> Schema:
    """Return the argument schema of an op, without its definitions. `additional` is that of arguments without a name.

    Without it, there are no others.
    """
    listed = list(arguments)
    schema: Schema = {"type": "object", "properties": {each.name: each.schema for each in listed}}
    if required := [each.name for each in listed if each.is_required]:
        schema["required"] = required
    return schema | {"additionalProperties": False if additional is None else additional or True}


def _clean_name(wire_name: str) -> str:
    name = wire_name.removesuffix("[]")
    if not _NAME.fullmatch(name):
        latin = name if name.isascii() else "_".join(split_name(name))
        name = _OTHER.sub("_", latin).strip("_") or _name_characters(name)
    return name[:MAX_NAME]


def _name_characters(text: str) -> str:
    """Return the names of characters without letters: < is less_than_sign."""
    names = " ".join(unicodedata.name(character, f"character {ord(character):x}") for character in text[:3])
    return _OTHER.sub("_", names.replace("-", " ")).strip("_").lower() or "empty"


def list_parameters(levels: list[Located], references: References) -> list[Located]:
    """Return the parameters of a path and of its operation, each followed. Those of the operation win."""
    found: dict[tuple[str, str], Located] = {}
    for level in levels:
        for each in level.value if isinstance(level.value, list) else ():
            parameter = references.follow(each, level.url)
            if isinstance(parameter.value, dict) and isinstance(parameter.value.get("name"), str):
                found[(parameter.value["name"], str(parameter.value.get("in")))] = parameter
    return list(found.values())


def build_arguments(
    path: PathTemplate, parameters: list[Located], converter: SchemaConverter, uses: set[str], *, is_swagger: bool
) -> list[Argument]:
    """Return the arguments of parameters, and of placeholders in the path that no parameter describes."""
    arguments = []
    for parameter in parameters:
        value = swagger.convert_parameter(parameter.value) if is_swagger else parameter.value
        if (placed := _place(value, path)) is not None:
            arguments.append(_build_argument(Located(placed, parameter.url), converter, uses))
    described = {(each.location, each.wire_name) for each in arguments}
    names = [("path", name) for name in sorted(path.placeholders)] + [("query", key) for key in path.query_arguments]
    arguments += [
        Argument(name, place, {"type": "string"}, True, {"name": name, "in": place})
        for place, name in names
        if (place, name) not in described
    ]
    for argument in arguments:
        _allow_slashes(argument, path)
    return arguments


def _place(parameter: dict[str, Any], path: PathTemplate) -> dict[str, Any] | None:
    """Return a parameter with its place in the request; None if it is not sent, because something else sets it."""
    name, location = parameter["name"], parameter.get("in")
    if location == "path":
        for each in path.placeholders.values():
            if name in (each.name, each.written):
                return {**parameter, "name": each.name}
        for key, each in path.query_arguments.items():
            if name in (each.name, each.written):
                return {**parameter, "name": key, "in": "query", "required": True, "style": "form"}
        return None
    if location == "query":
        return parameter if name and name not in path.fixed_keys else None
    return parameter if _is_sendable(parameter) else None


def _allow_slashes(argument: Argument, path: PathTemplate) -> None:
    """Let a greedy value keep its slashes, and describe what it looks like."""
    placeholder = path.placeholders.get(argument.wire_name)
    if argument.location != "path" or placeholder is None or not placeholder.is_greedy:
        return
    argument.mapping["greedy"] = True
    if placeholder.pattern and "pattern" not in argument.schema:
        argument.schema["pattern"] = placeholder.pattern
        argument.schema.setdefault("description", f"Such as {placeholder.written.partition('=')[2]}.")


def find_idempotency_header(parameters: list[Located]) -> str:
    """Return the name of the header in which an operation takes idempotency keys, or ""."""
    headers = (each.value["name"] for each in parameters if each.value.get("in") == "header")
    return next((name for name in headers if name.lower() in IDEMPOTENCY_HEADERS), "")


def _is_sendable(parameter: dict[str, Any]) -> bool:
    name, location = parameter["name"], parameter.get("in")
    if location == "header":
        lowered = name.lower()
        return lowered not in _IGNORED_HEADERS | IDEMPOTENCY_HEADERS and is_header_allowed(name)
    return location in LOCATIONS and bool(name)


def _build_argument(parameter: Located, converter: SchemaConverter, uses: set[str]) -> Argument:
    value, location = parameter.value, parameter.value["in"]
    mapping: dict[str, Any] = {"name": value["name"], "in": location}
    content = value.get("content")
    if isinstance(content, dict) and content:
        media_type, media = next(iter(content.items()))
        mapping["content_type"] = media_type[:200]
        source = media.get("schema", {}) if isinstance(media, dict) else {}
    else:
        source = value.get("schema", {})
        mapping |= dict(_iter_style(value, location))
    schema = converter.convert(source, parameter.url, uses)
    if isinstance(value.get("description"), str) and value["description"].strip():
        schema["description"] = value["description"].strip()
    argument = Argument(value["name"], location, schema, location == "path" or value.get("required") is True, mapping)
    set_example(argument, value, source)
    return argument


def set_example(argument: Argument, holder: dict[str, Any], schema: Any) -> None:
    """Set the example that a parameter or a property gives, or its schema."""
    for source in (holder, schema if isinstance(schema, dict) else {}):
        examples = source.get("examples")
        if "example" in source:
            argument.example, argument.has_example = source["example"], True
        elif isinstance(examples, dict) and (first := next(iter(examples.values()), None)):
            for key in ("dataValue", "value"):  # the first is of OpenAPI 3.2
                if isinstance(first, dict) and key in first and not argument.has_example:
                    argument.example, argument.has_example = first[key], True
        elif isinstance(examples, list) and examples:
            argument.example, argument.has_example = examples[0], True
        if argument.has_example:
            return


def _iter_style(value: dict[str, Any], location: str) -> Iterator[tuple[str, Any]]:
    """Yield the style of a parameter, unless it is the default of its place."""
    default, style = STYLES[location][0], value.get("style")
    if style in STYLES[location] and style != default:
        yield "style", style
    else:
        style = default
    explode = value.get("explode")
    if isinstance(explode, bool) and explode != (style == "form"):
        yield "explode", explode
    if value.get("allowReserved") is True and location == "query":
        yield "allow_reserved", True
