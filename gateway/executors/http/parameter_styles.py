"""The styles in which OpenAPI 3.1 writes a value into a URL, a header or a form (RFC 6570).

Null members and empty lists are undefined, as in RFC 6570, and left out. OpenAPI defines no style for objects and
lists inside others, except in deepObject: they are written as JSON.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from core.text import json_pointer
from gateway.contracts.errors import FieldError, InvalidRequestError, describe_invalid_args

# Reserved characters that cannot end or split a query, so that allow_reserved cannot add a parameter.
QUERY_RESERVED = ":/?@!$'()*,;"
_DELIMITERS = {"spaceDelimited": "%20", "pipeDelimited": "%7C", "tabDelimited": "%09"}
_PLAIN_DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
Encode = Callable[[str], str]


def to_text(value: Any) -> str:
    """Return a value as text: a string as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def encode(text: str) -> str:
    """Percent-encode everything but letters, digits and - . _ ~."""
    return quote(text, safe="")


def encode_query(text: str) -> str:
    """Percent-encode a query value, except for reserved characters that are harmless there."""
    return quote(text, safe=QUERY_RESERVED)


def format_path_value(name: str, value: Any, style: str, *, explode: bool) -> str:
    """Return what replaces {name} in a path."""
    if style == "label":
        return "." + format_simple(value, explode=explode, separator="." if explode else ",")
    if style == "matrix":
        return _format_matrix(name, value, explode=explode)
    return format_simple(value, explode=explode, separator=_DELIMITERS.get(style, ","))


def format_segments(value: Any) -> str:
    """Return what replaces a greedy {name} in a path: each segment encoded, without a slash at the beginning."""
    texts = [to_text(item) for item in value] if isinstance(value, list) else to_text(value).lstrip("/").split("/")
    return "/".join(map(encode, texts))


def join_plain(value: list[Any], style: str) -> str:
    """Return the items of a list as one text, without encoding."""
    return _PLAIN_DELIMITERS.get(style, ",").join(to_text(item) for item in value if item is not None)


def format_header_value(value: Any, style: str, *, explode: bool) -> str:
    """Return the text of a header."""
    return format_simple(value, explode=explode, separator=_PLAIN_DELIMITERS.get(style, ","), encoder=str)


def format_simple(value: Any, *, explode: bool, separator: str = ",", encoder: Encode = encode) -> str:
    """Return a value in the style simple. Members of an object are name=value if exploded, else name,value."""
    if isinstance(value, dict):
        return separator.join(_join_members(value, "=" if explode else ",", encoder))
    if isinstance(value, list):
        return separator.join(_encode_items(value, encoder))
    return encoder(to_text(value))


def format_pairs(name: str, value: Any, style: str, *, explode: bool, encoder: Encode = encode) -> list[str]:
    """Return name=value pairs for a query, a form or cookies, percent-encoded."""
    if style == "deepObject" and isinstance(value, dict):
        return list(_iterate_deep(name, value, encoder))
    if isinstance(value, dict):
        if explode:
            return list(_join_members(value, "=", encoder))
        parts = [encoder(part) for key, each in _iterate_members(value) for part in (key, each)]
    elif isinstance(value, list):
        parts = list(_encode_items(value, encoder))
        if explode:
            return [f"{encode(name)}={part}" for part in parts]
    else:
        return [f"{encode(name)}={encoder(to_text(value))}"]
    return [f"{encode(name)}={_DELIMITERS.get(style, ',').join(parts)}"] if parts else []


def _format_matrix(name: str, value: Any, *, explode: bool) -> str:
    if explode and isinstance(value, dict):
        return "".join(f";{member}" for member in _join_members(value, "=", encode))
    if explode and isinstance(value, list):
        return "".join(f";{encode(name)}={item}" for item in _encode_items(value, encode))
    return f";{encode(name)}={format_simple(value, explode=False)}"


def _iterate_members(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    return ((key, to_text(each)) for key, each in value.items() if each is not None)


def _join_members(value: dict[str, Any], joint: str, encoder: Encode) -> Iterator[str]:
    # A member's name is always fully encoded: unlike its value, it must not contain the joint.
    name_encoder = encode if encoder is encode_query else encoder
    return (f"{name_encoder(key)}{joint}{encoder(text)}" for key, text in _iterate_members(value))


def _encode_items(value: list[Any], encoder: Encode) -> Iterator[str]:
    return (encoder(to_text(item)) for item in value if item is not None)


def _iterate_deep(name: str, value: dict[str, Any], encoder: Encode) -> Iterator[str]:
    for key, each in value.items():
        path = f"{name}[{key}]"
        if isinstance(each, dict):
            yield from _iterate_deep(path, each, encoder)
        elif each is not None:
            yield from format_pairs(path, each, "form", explode=True, encoder=encoder)


class UnsendableArgument(ValueError):
    """The value of an argument has no place in the request. The message is a sentence for the caller."""

    def __init__(self, argument: str, code: str, message: str) -> None:
        super().__init__(message)
        self.argument, self.code = argument, code

    def to_field_error(self) -> FieldError:
        """Return the field error at the argument."""
        return FieldError(build_pointer(self.argument), self.code, str(self))


def build_pointer(*path: str) -> str:
    """Return the JSON pointer of an argument, or of a value inside it, in the args."""
    return json_pointer.build(path)


def build_invalid_args_error(problems: Sequence[UnsendableArgument]) -> InvalidRequestError:
    """Return the error that lists all arguments that cannot be sent."""
    field_errors = [problem.to_field_error() for problem in problems]
    return InvalidRequestError(describe_invalid_args(is_corrected=False), field_errors=field_errors)
