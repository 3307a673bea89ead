"""Which properties of a form are files: by format, type, media type or encoding, also in lists and references."""

from enum import StrEnum
from typing import Any

from registry.imports.openapi.references import DanglingReference, OtherHost, References
from registry.imports.openapi.requests import media_types
from registry.jsonschema.dialect import SHORT_NOTE

MAX_DEPTH = 6  # of references and parts
FILE_SCHEMA: dict[str, Any] = {
    "type": "string",
    "description": "The id of a stored file.",
    SHORT_NOTE: "id of a stored file",
}


class FileKind(StrEnum):
    """Whether a property is a file, a list of files, or neither."""

    NONE = ""
    ONE = "one"
    LIST = "list"


def find_file(schema: Any, url: str, references: References, encoding: str = "") -> FileKind:
    """Return whether the value of a part is a file. `encoding` is the media type that the form's encoding gives it."""
    kind = _find(schema, url, references, 0)
    if kind is FileKind.NONE and encoding and _is_binary(encoding):
        value = _follow(schema, url, references)[0]
        if value.get("type", "string") in ("string", ["string", "null"]):
            return FileKind.ONE
        items = value.get("items", {})
        if value.get("type") == "array" and isinstance(items, dict) and items.get("type", "string") == "string":
            return FileKind.LIST
    return kind


def build_file_schema(kind: FileKind, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an argument that takes ids of files, from its schema as converted."""
    text = schema.get("description", "")
    described = FILE_SCHEMA | ({"description": f"{text.rstrip('. ')}. {FILE_SCHEMA['description']}"} if text else {})
    is_nullable = {"type": "null"} in schema.get("anyOf", ()) or "null" in (schema.get("type") or ())
    if kind is FileKind.ONE:
        return described | ({"type": ["string", "null"]} if is_nullable else {})
    bounds = {key: schema[key] for key in ("minItems", "maxItems") if key in schema}
    return {
        "type": ["array", "null"] if is_nullable else "array",
        "items": dict(FILE_SCHEMA),
        "description": f"{text.rstrip('. ')}. The ids of stored files." if text else "The ids of stored files.",
        SHORT_NOTE: "ids of stored files",
    } | bounds


def is_binary_string(schema: Any, url: str, references: References) -> bool:
    """Return whether a schema says that its value is bytes."""
    return _find(schema, url, references, 0) is FileKind.ONE


def is_text_string(schema: Any, url: str, references: References) -> bool:
    """Return whether a schema is a string that is not bytes."""
    value, _ = _follow(schema, url, references)
    types = value.get("type")
    is_string = types == "string" or (isinstance(types, list) and set(types) - {"null"} == {"string"})
    return is_string and not is_binary_string(schema, url, references)


def _find(schema: Any, url: str, references: References, depth: int) -> FileKind:
    value, url = _follow(schema, url, references)
    if not value or depth > MAX_DEPTH:
        return FileKind.NONE
    media_type = value.get("contentMediaType")
    is_typed = isinstance(media_type, str) and "contentEncoding" not in value and _is_binary(media_type)
    if value.get("format") == "binary" or value.get("type") == "file" or is_typed:
        return FileKind.ONE
    for keyword in ("allOf", "anyOf", "oneOf"):
        parts = value.get(keyword)
        kinds = [
            _find(part, url, references, depth + 1)
            for part in (parts if isinstance(parts, list) else ())
            if isinstance(part, dict) and part.get("type") != "null"
        ]
        # Of alternatives, all have to be files: some services take a file or its address.
        if kinds and (any(kinds) if keyword == "allOf" else all(kinds)):
            return next(kind for kind in kinds if kind)
    if "items" in value and _find(value["items"], url, references, depth + 1) is FileKind.ONE:
        return FileKind.LIST
    return FileKind.NONE


def _follow(schema: Any, url: str, references: References) -> tuple[dict[str, Any], str]:
    try:
        value, url = references.follow(schema, url)
    except (DanglingReference, OtherHost):
        return {}, url
    return (value, url) if isinstance(value, dict) else ({}, url)


def _is_binary(media_types_text: str) -> bool:
    """Return whether a media type, or each of a list with commas, is neither JSON nor text."""
    names = [name for name in media_types_text.split(",") if "/" in name]
    return bool(names) and not any(media_types.is_json(name) or media_types.is_text(name) for name in names)
