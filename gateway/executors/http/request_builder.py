"""Build the request of a call from its args, the op's mapping and the connection."""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from gateway.executors.http import parameter_styles, request_body
from gateway.executors.http.parameter_styles import UnsendableArgument, build_invalid_args_error
from gateway.executors.http.request_body import LoadFile
from gateway.executors.remote.credentials import BuiltRequest
from registry.catalog.connections import ConnectionConfig
from registry.request_mapping import Parameter, RequestMapping, list_arguments

_PLACEHOLDER = re.compile(r"\{([^{}/]+)\}")
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_-]+")  # means the same encoded and in every style but label and matrix
_SEPARATOR = re.compile(r"[/\\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MAX_DECODINGS = 5  # servers and proxies in a row that each decode a path once more
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")
_COOKIE_CHARACTERS = "!#$%&'()*+-./:<=>?@[]^_`{|}~,"
_EMPTY_BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})


def fill_path(template: str, texts: dict[str, str], arguments: dict[str, str]) -> str:
    """Return the path with each {name} replaced. `arguments` has the argument of each name, for errors.

    Raises UnsendableArgument if values together make a segment of dots, such as {a}{b} with two dots.
    """
    segments = []
    for segment in template.split("/"):
        names = _PLACEHOLDER.findall(segment)
        filled = _PLACEHOLDER.sub(lambda match: texts[match[1]], segment)
        if names and any(map(_is_dots, filled.split("/"))):  # a greedy value is several segments
            raise _build_dots_error(arguments[names[0]])
        segments.append(filled)
    return "/".join(segments)


def format_path_parameter(parameter: Parameter, value: Any) -> str:
    """Return the encoded text of a path parameter. Raises UnsendableArgument."""
    if parameter.style == "simple" and isinstance(value, str) and _PLAIN_VALUE.fullmatch(value):
        return value
    for text in _iterate_texts(value):
        _check_text(parameter.argument, text)
    if parameter.is_greedy:
        encoded = parameter_styles.format_segments(value)
    else:
        encoded = parameter_styles.format_path_value(parameter.name, value, parameter.style, explode=parameter.explode)
    if value in ("", [], {}, None) or not encoded:
        raise UnsendableArgument(parameter.argument, "empty", f"{parameter.argument} must not be empty.")
    return encoded


def _check_text(argument: str, text: str) -> None:
    """Refuse text that a server behind a decoding proxy would read as a way up, although it is percent-encoded here."""
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


def build_request(
    mapping: RequestMapping, args: Mapping[str, Any], config: ConnectionConfig, *, load_file: LoadFile
) -> BuiltRequest:
    """Return the request without credentials. Raises InvalidRequestError with a field error for each bad argument."""
    problems: list[UnsendableArgument] = []
    texts = _format_path_texts(mapping, args, problems)
    pairs = _format_query(mapping, args)
    headers = _format_headers(mapping, args, config, problems)
    try:
        body = (
            request_body.build_body(mapping.body, args, load_file, _list_additional(mapping, args))
            if mapping.body
            else None
        )
    except UnsendableArgument as problem:
        problems.append(problem)
    if problems:
        raise build_invalid_args_error(problems)
    url = _build_url(config.base_url, _fill_path(mapping, texts), pairs)
    is_unsaid = body is not None and body[1] == b"{}" and not (mapping.body and mapping.body.argument)
    if body is None or (is_unsaid and mapping.method not in _EMPTY_BODY_METHODS):
        return BuiltRequest(mapping.method, url, headers)
    return BuiltRequest(mapping.method, url, headers | {"content-type": body[0]}, body[1])


def _list_additional(mapping: RequestMapping, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the args that the mapping does not name, if the body takes them."""
    if mapping.body is None or not mapping.body.has_additional:
        return {}
    named = frozenset(list_arguments(mapping))
    return {name: value for name, value in args.items() if name not in named}


def _format_path_texts(
    mapping: RequestMapping, args: Mapping[str, Any], problems: list[UnsendableArgument]
) -> dict[str, str]:
    texts = {}
    for parameter in _list_parameters(mapping, "path"):
        try:
            if args.get(parameter.argument) is None:
                raise UnsendableArgument(parameter.argument, "required", f"{parameter.argument} is required.")
            value = _apply_content_type(parameter, args[parameter.argument])
            texts[parameter.name] = format_path_parameter(parameter, value)
        except UnsendableArgument as problem:
            problems.append(problem)
    return texts


def _fill_path(mapping: RequestMapping, texts: dict[str, str]) -> str:
    arguments = {parameter.name: parameter.argument for parameter in _list_parameters(mapping, "path")}
    try:
        return fill_path(mapping.path, texts, arguments)
    except UnsendableArgument as problem:
        raise build_invalid_args_error([problem]) from None


def _format_query(mapping: RequestMapping, args: Mapping[str, Any]) -> list[str]:
    pairs = [mapping.query_string] if mapping.query_string else []
    pairs += [
        pair
        for name, text in mapping.query.items()
        for pair in parameter_styles.format_pairs(name, text, "form", explode=True)
    ]
    for parameter in _list_parameters(mapping, "query"):
        encoder = parameter_styles.encode_query if parameter.allow_reserved else parameter_styles.encode
        pairs += _format_pairs(parameter, args, encoder)
    return pairs


def _format_headers(
    mapping: RequestMapping, args: Mapping[str, Any], config: ConnectionConfig, problems: list[UnsendableArgument]
) -> dict[str, str]:
    headers = {"accept": mapping.accept}
    for parameter in _list_parameters(mapping, "header"):
        if args.get(parameter.argument) is None:
            continue
        value = _apply_content_type(parameter, args[parameter.argument])
        text = parameter_styles.format_header_value(value, parameter.style, explode=parameter.explode).strip(" \t")
        if _HEADER_VALUE.fullmatch(text):
            headers[parameter.name.lower()] = text
        else:
            message = f"{parameter.argument} must be one line of ASCII characters."
            problems.append(UnsendableArgument(parameter.argument, "header_value", message))
    cookies = [
        pair
        for each in _list_parameters(mapping, "cookie")
        for pair in _format_pairs(
            each, args, _encode_plain_cookie if each.style == "cookie" else parameter_styles.encode
        )
    ]
    # Last, because an argument must not replace what an administrator set.
    fixed = {name.lower(): value for name, value in [*config.headers.items(), *mapping.headers.items()]}
    return headers | ({"cookie": "; ".join(cookies)} if cookies else {}) | fixed


def _format_pairs(
    parameter: Parameter, args: Mapping[str, Any], encoder: Callable[[str], str] = parameter_styles.encode
) -> list[str]:
    if args.get(parameter.argument) is None:
        return []
    value = _apply_content_type(parameter, args[parameter.argument])
    return parameter_styles.format_pairs(
        parameter.name, value, parameter.style, explode=parameter.explode, encoder=encoder
    )


def _encode_plain_cookie(text: str) -> str:
    """Return a cookie's value as it is. Only what would end it, or cannot stand in a header, is encoded."""
    return quote(text, safe=_COOKIE_CHARACTERS)


def _apply_content_type(parameter: Parameter, value: Any) -> Any:
    """Return the value as the text that is sent, if it is sent in a format such as JSON instead of a style."""
    if not request_body.is_json_type(parameter.content_type):
        return value
    return json.dumps(value, separators=(",", ":"))  # ASCII, so that it fits into a header


def _list_parameters(mapping: RequestMapping, location: str) -> list[Parameter]:
    return [parameter for parameter in mapping.parameters if parameter.location == location]


def _build_url(base_url: str, path: str, pairs: list[str]) -> str:
    """Return the URL below the base URL, whose query, such as ?api-version=1, stays."""
    origin, base_path, base_query = _split_base(base_url)
    query = "&".join([*([base_query] if base_query else []), *pairs])
    return f"{origin}{base_path}{path}?{query}" if query else origin + base_path + path


@lru_cache(maxsize=1_000)
def _split_base(base_url: str) -> tuple[str, str, str]:
    """Return the origin, the path without a slash at the end, and the query of a base URL."""
    base = urlsplit(base_url)
    return f"{base.scheme}://{base.netloc}", base.path.rstrip("/"), base.query
