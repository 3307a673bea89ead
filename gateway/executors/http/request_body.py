"""The body of a request, by its content type; multipart/form-data as in RFC 7578."""

import base64
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from core.text import json_text
from gateway.contracts.errors import InvalidRequestError
from gateway.executors.http import parameter_styles
from gateway.executors.http.parameter_styles import UnsendableArgument
from gateway.executors.remote.result_values import FileContent
from registry.request_mapping import FORM_TYPE, JSON_TYPE, MULTIPART_TYPE, Body, BodyProperty

_UNSAFE = re.compile(r'["\r\n]')
_CONTENT_TYPE = re.compile(r"[\w.+*-]{1,100}/[\w.+*-]{1,100}(?:;[\x20-\x7e]{0,200})?", re.ASCII)
_FALLBACK_TYPE = "application/octet-stream"
LoadFile = Callable[[str], FileContent]
Encoded = tuple[str, bytes]  # content type and body


@dataclass(frozen=True, slots=True, repr=False)
class Part:
    """One part: a value, or a file if it has a file name."""

    name: str
    content: bytes
    content_type: str = ""
    file_name: str = ""


def build_multipart(parts: Iterable[Part]) -> tuple[str, bytes]:
    """Return the boundary and the body. The boundary is random, so that no content can contain it."""
    boundary = secrets.token_hex(16)
    pieces = [piece for part in parts for piece in (_build_head(part, boundary), part.content, b"\r\n")]
    return boundary, b"".join([*pieces, f"--{boundary}--\r\n".encode()])


def _build_head(part: Part, boundary: str) -> bytes:
    disposition = f'form-data; name="{_escape(part.name)}"'
    if part.file_name:
        disposition += f'; filename="{_escape(part.file_name)}"'
    lines = [f"--{boundary}", f"Content-Disposition: {disposition}"]
    if part.content_type:
        is_valid = _CONTENT_TYPE.fullmatch(part.content_type)
        lines.append(f"Content-Type: {part.content_type if is_valid else _FALLBACK_TYPE}")
    return "\r\n".join([*lines, "", ""]).encode()


def _escape(text: str) -> str:
    """Escape as browsers do (the HTML standard), so that a name cannot add a header."""
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


def is_json_type(content_type: str) -> bool:
    """Return whether a content type is JSON, such as application/problem+json."""
    base = get_base_type(content_type)
    return base == JSON_TYPE or base.endswith("+json")


def get_base_type(content_type: str) -> str:
    """Return a content type without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def build_body(
    body: Body, args: Mapping[str, Any], load_file: LoadFile, additional: Mapping[str, Any] = MappingProxyType({})
) -> Encoded | None:
    """Return the content type and the body; None if no argument of it was sent. Raises UnsendableArgument.

    `additional` are properties that the mapping does not name.
    """
    if body.argument:
        return _encode_argument(body, args[body.argument], load_file) if body.argument in args else None
    values = {each: args[each.argument] for each in body.properties if each.argument in args}
    is_file = body.has_more_files
    values |= {BodyProperty(name, name, is_file=is_file): value for name, value in additional.items()}
    if not values and not is_json_type(body.content_type):
        return None
    base = get_base_type(body.content_type)
    if base == MULTIPART_TYPE:
        return _encode_multipart(values, load_file)
    if base == FORM_TYPE:
        pairs = [pair for each, value in values.items() for pair in _format_form_pairs(each, value)]
        return body.content_type, "&".join(pairs).encode()
    # Types without their own rules also get an object as JSON.
    members = {each.name: _load_text(each, value, load_file) for each, value in values.items()}
    return body.content_type, json_text.dump(members)


def _encode_argument(body: Body, value: Any, load_file: LoadFile) -> Encoded:
    base = get_base_type(body.content_type)
    if is_json_type(base):
        return body.content_type, json_text.dump(value)
    if base in (FORM_TYPE, MULTIPART_TYPE) and isinstance(value, dict):
        members = {each.name: replace(each, argument=body.argument) for each in body.properties}
        properties = {
            members.get(name) or BodyProperty(body.argument, name, is_file=body.has_more_files): each
            for name, each in value.items()
            if each is not None
        }
        if base == MULTIPART_TYPE:
            return _encode_multipart(properties, load_file)
        pairs = [pair for each, item in properties.items() for pair in _format_form_pairs(each, item)]
        return body.content_type, "&".join(pairs).encode()
    if body.is_text or base.startswith("text/") or base.endswith("xml"):
        return body.content_type, parameter_styles.to_text(value).encode()
    _, content_type, content = _load(BodyProperty(body.argument, body.argument), value, load_file)
    return content_type if "*" in base else body.content_type, content


def _format_form_pairs(each: BodyProperty, value: Any) -> list[str]:
    if value is None:
        return []
    if is_json_type(each.content_type):
        value = json_text.dump(value).decode()
    return parameter_styles.format_pairs(each.name, value, each.style, explode=each.explode)


def _encode_multipart(values: Mapping[BodyProperty, Any], load_file: LoadFile) -> Encoded:
    parts = [
        part for each, value in values.items() if value is not None for part in _iterate_parts(each, value, load_file)
    ]
    boundary, content = build_multipart(parts)
    return f"{MULTIPART_TYPE}; boundary={boundary}", content


def _iterate_parts(each: BodyProperty, value: Any, load_file: LoadFile) -> Iterator[Part]:
    """Yield a part for the value, or for each item of a list (RFC 7578 section 4.3)."""
    if isinstance(value, list) and not each.explode and not each.is_file and not is_json_type(each.content_type):
        yield Part(each.name, parameter_styles.join_plain(value, each.style).encode(), each.content_type)
    elif isinstance(value, list) and not is_json_type(each.content_type):
        for item in value:
            yield from _iterate_parts(each, item, load_file)
    elif each.is_file:
        name, content_type, content = _load(each, value, load_file)
        yield Part(each.name, content, content_type or each.content_type, name)
    else:
        is_json = isinstance(value, dict | list) or is_json_type(each.content_type)
        content = json_text.dump(value) if is_json else parameter_styles.to_text(value).encode()
        yield Part(each.name, content, each.content_type or (JSON_TYPE if is_json else ""))


def _load_text(each: BodyProperty, value: Any, load_file: LoadFile) -> Any:
    """Return the value; the content of a file in base64, as JSON has no bytes."""
    if not each.is_file or value is None:
        return value
    if isinstance(value, list):
        return [_load_text(each, item, load_file) for item in value]
    return base64.b64encode(_load(each, value, load_file)[2]).decode()


def _load(each: BodyProperty, value: Any, load_file: LoadFile) -> FileContent:
    if not isinstance(value, str):
        raise UnsendableArgument(each.argument, "file", f"{each.argument} must be the id of a stored file.")
    try:
        return load_file(value)
    except InvalidRequestError as error:
        raise UnsendableArgument(each.argument, "file", f"{each.argument}: {error}") from None
