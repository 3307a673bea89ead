"""The request body of an operation as arguments: its properties, or the whole body as one."""

from dataclasses import dataclass, field
from typing import Any

from registry.imports.openapi.parameters import Argument, set_example
from registry.imports.openapi.references import DanglingReference, Located, References
from registry.imports.openapi.schemas import SchemaConverter
from registry.request_mapping import FORM_TYPE, JSON_TYPE, MULTIPART_TYPE

FILE_SCHEMA = {"type": "string", "description": "The id of a stored file."}
_MAX_PARTS = 30  # of allOf, followed
_OBJECT_ONLY = frozenset(
    ("type", "properties", "required", "allOf", "description", "title", "example", "examples", "additionalProperties")
)
_IGNORED = frozenset(("xml", "externalDocs", "deprecated", "default", "nullable", "minProperties", "$schema", "$id"))


@dataclass(slots=True)
class BodyPlan:
    """How a body is sent: its media type, and its arguments. `is_whole`: the only argument is the body itself."""

    content_type: str
    arguments: list[Argument] = field(default_factory=list)
    is_whole: bool = False
    examples: list[Any] = field(default_factory=list)  # whole bodies


@dataclass(slots=True)
class _ObjectParts:
    """The properties of an object schema and of the parts of its allOf."""

    properties: dict[str, tuple[Any, str]] = field(default_factory=dict)  # name -> (schema, address of its file)
    required: dict[str, None] = field(default_factory=dict)
    count: int = 0


def plan_body(body: Located, references: References, converter: SchemaConverter, uses: set[str]) -> BodyPlan | None:
    """Return how the body is sent; None if there is none."""
    content = body.value.get("content") if isinstance(body.value, dict) else None
    if not isinstance(content, dict) or not content:
        return None
    media_type = _choose_media_type(list(content))
    media = content[media_type] if isinstance(content[media_type], dict) else {}
    schema, is_required = media.get("schema", {}), body.value.get("required") is True
    sent_as = JSON_TYPE if media_type in ("*/*", "text/json") else media_type.partition(";")[0].strip()
    plan = BodyPlan(sent_as, examples=_list_examples(media, schema, references, body.url))
    parts = _find_properties(schema, references, body.url) if _is_object_type(media_type) else None
    # All or nothing: an optional body whose properties are required stays one argument.
    if parts and (is_required or not parts.required):
        encoding = media.get("encoding")
        plan.arguments = [
            _build_property(name, located, name in parts.required, sent_as, encoding, converter, uses)
            for name, located in parts.properties.items()
            if not _is_read_only(located[0])
        ]
    if plan.arguments:
        return plan
    plan.is_whole, plan.arguments = True, [_build_whole(media_type, schema, body, is_required, converter, uses)]
    return plan


def is_json(media_type: str) -> bool:
    """Return whether a media type is JSON."""
    name = media_type.partition(";")[0].strip().lower()
    return name in (JSON_TYPE, "text/json", "*/*") or name.endswith("+json")


def _is_object_type(media_type: str) -> bool:
    return is_json(media_type) or media_type.partition(";")[0].strip() in (FORM_TYPE, MULTIPART_TYPE)


def _choose_media_type(media_types: list[str]) -> str:
    """Return the type that a model can fill in best: JSON, then forms, then text."""

    def rank(media_type: str) -> tuple[int, int]:
        name = media_type.partition(";")[0].strip().lower()
        order = (JSON_TYPE, FORM_TYPE, MULTIPART_TYPE)
        if name in order:
            return order.index(name) * 2, 0
        return (1 if is_json(name) else 6 if name.startswith("text/") else 7 if name.endswith("xml") else 8), 0

    return min(media_types, key=rank)


def _find_properties(schema: Any, references: References, url: str) -> _ObjectParts | None:
    """Return the properties of an object schema; None if it is more than a plain object."""
    parts = _ObjectParts()
    return parts if _collect(schema, references, url, parts) and parts.properties else None


def _collect(schema: Any, references: References, url: str, parts: _ObjectParts) -> bool:
    """Collect the properties of a schema. Return whether it is a plain object."""
    parts.count += 1
    if parts.count > _MAX_PARTS:
        return False
    try:
        value, url = references.follow(schema, url)
    except DanglingReference:
        return False
    if not isinstance(value, dict) or not _is_plain_object(value):
        return False
    for part in value.get("allOf", ()) if isinstance(value.get("allOf", ()), list) else ():
        if not _collect(part, references, url, parts):
            return False
    properties, required = value.get("properties"), value.get("required")
    for name, each in properties.items() if isinstance(properties, dict) else ():
        parts.properties[name] = (each, url)
        if isinstance(each, dict) and each.get("required") is True:  # a flag of older drafts
            parts.required[name] = None
    parts.required |= {name: None for name in required if isinstance(name, str)} if isinstance(required, list) else {}
    return True


def _is_plain_object(schema: dict[str, Any]) -> bool:
    if schema.get("type", "object") not in ("object", ["object"], ["object", "null"]):
        return False
    if isinstance(schema.get("additionalProperties"), dict) and schema["additionalProperties"]:
        return False
    return all(key in _OBJECT_ONLY or key in _IGNORED or key.startswith("x-") for key in schema)


def _build_property(
    name: str,
    located: tuple[Any, str],
    is_required: bool,
    content_type: str,
    encoding: Any,
    converter: SchemaConverter,
    uses: set[str],
) -> Argument:
    source, url = located
    mapping: dict[str, Any] = {}
    if content_type in (FORM_TYPE, MULTIPART_TYPE):
        mapping = _read_encoding(encoding.get(name) if isinstance(encoding, dict) else None)
    schema = converter.convert(source, url, uses)
    if content_type == MULTIPART_TYPE and _is_file(source):
        mapping["is_file"] = True
        schema = FILE_SCHEMA | {key: schema[key] for key in ("description",) if key in schema}
    _tell_default(schema)
    argument = Argument(name, "property", schema, is_required, mapping)
    set_example(argument, {}, source)
    return argument


def _tell_default(schema: dict[str, Any]) -> None:
    """Describe the default of a body's property in words. If sent in an update, it would overwrite the stored value."""
    if "default" in schema:
        default = schema.pop("default")
        if isinstance(default, str | int | float) and default != "":
            text = schema.get("description", "")
            end = "" if not text or text[-1] in ".!?" else "."
            schema["description"] = f"{text}{end} Default: {str(default)[:60]}.".strip()


def _build_whole(
    media_type: str, schema: Any, body: Located, is_required: bool, converter: SchemaConverter, uses: set[str]
) -> Argument:
    if is_json(media_type) or media_type in (FORM_TYPE, MULTIPART_TYPE):
        converted, name = converter.convert(schema, body.url, uses), "body"
        converted.pop("default", None)
    elif media_type.startswith("text/") or media_type.endswith("xml"):
        converted, name = {"type": "string"}, "text"
    else:
        converted, name = dict(FILE_SCHEMA), "file"
    text = body.value.get("description")
    if isinstance(text, str) and text.strip() and name != "file":
        converted.setdefault("description", text.strip())
    return Argument(name, "body", converted, is_required)


def _read_encoding(encoding: Any) -> dict[str, Any]:
    if not isinstance(encoding, dict):
        return {}
    mapping: dict[str, Any] = {}
    content_type = encoding.get("contentType")
    if isinstance(content_type, str) and "/" in content_type and "," not in content_type:
        mapping["content_type"] = content_type
    if encoding.get("style") in ("form", "spaceDelimited", "pipeDelimited", "deepObject"):
        mapping["style"] = encoding["style"]
    if isinstance(encoding.get("explode"), bool):
        mapping["explode"] = encoding["explode"]
    return mapping


def _is_file(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    return schema.get("format") == "binary" or schema.get("type") == "file" or "contentMediaType" in schema


def _is_read_only(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("readOnly") is True


def _list_examples(media: dict[str, Any], schema: Any, references: References, url: str) -> list[Any]:
    found = [media["example"]] if "example" in media else []
    named = media.get("examples")
    for each in named.values() if isinstance(named, dict) else ():
        try:
            value = references.follow(each, url).value
        except DanglingReference:
            continue
        if isinstance(value, dict) and "value" in value:
            found.append(value["value"])
    if not found:
        try:
            value = references.follow(schema, url).value
        except DanglingReference:
            return []
        if isinstance(value, dict) and "example" in value:
            found.append(value["example"])
    return found[:3]
