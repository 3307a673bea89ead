"""Paths with {names}: each value is put into its segment, which it can never leave."""

import re
from typing import Any
from urllib.parse import unquote

from gateway.executors.http import parameter_styles
from gateway.executors.http.argument_errors import UnsendableArgument
from registry.request_mapping import Parameter

_PLACEHOLDER = re.compile(r"\{([^{}/]+)\}")
_SEPARATOR = re.compile(r"[/\\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MAX_DECODINGS = 5  # servers and proxies in a row that each decode a path once more


def fill_path(template: str, texts: dict[str, str], arguments: dict[str, str]) -> str:
    """Return the path with each {name} replaced. `arguments` has the argument of each name, for errors.

    Raises UnsendableArgument if values together make a segment of dots, such as {a}{b} with two dots.
    """
    segments = []
    for segment in template.split("/"):
        names = _PLACEHOLDER.findall(segment)
        filled = _PLACEHOLDER.sub(lambda match: texts[match[1]], segment)
        if names and _is_dots(filled):
            raise _build_dots_error(arguments[names[0]])
        segments.append(filled)
    return "/".join(segments)


def format_path_parameter(parameter: Parameter, value: Any) -> str:
    """Return the encoded text of a path parameter. Raises UnsendableArgument."""
    for text in _iterate_texts(value):
        _check_text(parameter.argument, text)
    encoded = parameter_styles.format_path_value(parameter.name, value, parameter.style, explode=parameter.explode)
    if value in ("", [], {}, None) or not encoded:
        raise UnsendableArgument(parameter.argument, "empty", f"{parameter.argument} must not be empty.")
    return encoded


def _check_text(argument: str, text: str) -> None:
    """Refuse what a server behind a decoding proxy would take for a way up, although it is percent-encoded here."""
    if _CONTROL.search(text):
        raise UnsendableArgument(argument, "control_character", f"{argument} must not contain control characters.")
    for _ in range(_MAX_DECODINGS):
        if any(map(_is_dots, _SEPARATOR.split(text))):
            raise _build_dots_error(argument)
        if (decoded := unquote(text)) == text:
            return
        text = decoded
    raise _build_dots_error(argument)


def _is_dots(segment: str) -> bool:
    return segment in (".", "..")


def _iterate_texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for each in pair for text in _iterate_texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in _iterate_texts(each)]
    return [parameter_styles.to_text(value)]


def _build_dots_error(argument: str) -> UnsendableArgument:
    return UnsendableArgument(argument, "path_traversal", f"{argument} must not have a segment of one or two dots.")
