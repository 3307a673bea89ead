"""How the args of an op become one HTTP request: the value of `Op.request`, which importers write and admins edit."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import jsonschema_rs

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
READ_METHODS = ("GET", "HEAD", "OPTIONS")  # which by HTTP's rules change nothing
LOCATIONS = ("path", "query", "header", "cookie")
# The styles for each location; the first is the default. They are those of OpenAPI 3, and the delimiters of Swagger
# 2.0, which it allows everywhere, with tabs; "cookie" is of OpenAPI 3.2: values that are not encoded.
_DELIMITED = ("spaceDelimited", "pipeDelimited", "tabDelimited")
STYLES: dict[str, tuple[str, ...]] = {
    "path": ("simple", "label", "matrix", *_DELIMITED),
    "query": ("form", *_DELIMITED, "deepObject"),
    "header": ("simple", *_DELIMITED),
    "cookie": ("form", "cookie"),
}
JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"
MULTIPART_TYPE = "multipart/form-data"

_ARGUMENT: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 200}
_MEDIA_TYPE: dict[str, Any] = {"type": "string", "pattern": r"^[\w.+*-]+/[\w.+*-]+(?:;.*)?$", "maxLength": 200}
_STYLE: dict[str, Any] = {"enum": sorted({style for styles in STYLES.values() for style in styles})}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PLACEHOLDER = re.compile(r"\{([^{}/]+)\}")
# Headers that the gateway sets itself. An argument must not: the model writes it.
RESERVED_HEADERS = frozenset(
    """
    accept accept-encoding authorization connection content-length content-type cookie expect forwarded host
    keep-alive proxy-authorization te trailer transfer-encoding upgrade x-forwarded-for x-forwarded-host
    x-forwarded-proto x-real-ip
""".split()
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "method": {"enum": list(METHODS)},
        "path": {"type": "string", "pattern": r"^/[^\s?#]*$", "maxLength": 2000},
        "parameters": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": _ARGUMENT,
                    "in": {"enum": list(LOCATIONS)},
                    "argument": _ARGUMENT,
                    "style": _STYLE,
                    "explode": {"type": "boolean"},
                    "allow_reserved": {"type": "boolean"},
                    "greedy": {"type": "boolean"},
                    "content_type": _MEDIA_TYPE,
                },
                "required": ["name", "in"],
                "additionalProperties": False,
            },
        },
        "body": {
            "type": "object",
            "properties": {
                "content_type": _MEDIA_TYPE,
                "argument": _ARGUMENT,
                "is_text": {"type": "boolean"},
                "additional": {"type": "boolean"},
                "more_files": {"type": "boolean"},
                "properties": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "properties": {
                            "name": _ARGUMENT,
                            "content_type": _MEDIA_TYPE,
                            "style": _STYLE,
                            "explode": {"type": "boolean"},
                            "is_file": {"type": "boolean"},
                        },
                        "additionalProperties": False,
                    },
                },
            },
            "required": ["content_type"],
            "anyOf": [{"required": ["argument"]}, {"required": ["properties"]}],
            "additionalProperties": False,
        },
        "accept": {"type": "string", "maxLength": 500},
        "headers": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1000}},
        "query": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 1000}},
        "query_string": {"type": "string", "pattern": r"^[!-\"$-~]*$", "maxLength": 2000},
    },
    "required": ["method", "path"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument in the path, the query, a header or a cookie. Styles are those of OpenAPI 3.1.

    `content_type` is set if the value is sent in that format, such as JSON, instead of in a style. `is_greedy`: the
    value is several segments of the path, so that its slashes stay.
    """

    argument: str
    name: str
    location: str
    style: str
    explode: bool
    allow_reserved: bool = False
    content_type: str = ""
    is_greedy: bool = False


@dataclass(frozen=True, slots=True)
class BodyProperty:
    """One property of a body and the argument with its value. `is_file`: the argument is a reference to a file."""

    argument: str
    name: str
    content_type: str = ""
    style: str = "form"
    explode: bool = True
    is_file: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """The body: one argument as it is, or an object with a property for each argument.

    With an argument, `properties` say how some of its members are sent. `is_text`: the argument is sent as text,
    although its content type is not one. `has_additional`: other arguments are also properties.
    `has_more_files`: properties that the mapping does not name are files.
    """

    content_type: str
    argument: str = ""
    properties: tuple[BodyProperty, ...] = ()
    is_text: bool = False
    has_additional: bool = False
    has_more_files: bool = False


@dataclass(frozen=True, slots=True)
class RequestMapping:
    """Which request an op sends. The path is below the connection's base URL and has {names} of path parameters.

    `headers` and `query` are the same in every call, and so is `query_string`, which is sent as it is written.
    """

    method: str
    path: str
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    accept: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    query_string: str = ""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request that a mapping gave and that was not sent. Header names are in lower case."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None


def parse_mapping(value: Mapping[str, Any]) -> RequestMapping:
    """Return the mapping with defaults filled in. The value must have no problems (see `find_problems`)."""
    body = value.get("body")
    return RequestMapping(
        value["method"],
        value["path"],
        tuple(map(_parse_parameter, value.get("parameters", ()))),
        _parse_body(body) if body else None,
        value.get("accept") or JSON_TYPE,
        value.get("headers", {}),
        value.get("query", {}),
        value.get("query_string", ""),
    )


def _parse_parameter(value: Mapping[str, Any]) -> Parameter:
    style = value.get("style") or STYLES[value["in"]][0]
    return Parameter(
        value.get("argument") or value["name"],
        value["name"],
        value["in"],
        style,
        value.get("explode", style == "form"),
        value.get("allow_reserved", False),
        value.get("content_type", ""),
        value.get("greedy", False),
    )


def _parse_body(value: Mapping[str, Any]) -> Body:
    properties = (
        BodyProperty(
            argument,
            each.get("name") or argument,
            each.get("content_type", ""),
            each.get("style", "form"),
            each.get("explode", each.get("style", "form") == "form"),
            each.get("is_file", False),
        )
        for argument, each in value.get("properties", {}).items()
    )
    return Body(
        value["content_type"],
        value.get("argument", ""),
        tuple(properties),
        value.get("is_text", False),
        value.get("additional", False),
        value.get("more_files", False),
    )


def find_problems(value: Any, arguments: Collection[str]) -> list[str]:
    """Return what is wrong with a mapping for an op with these arguments, one sentence each; empty if nothing."""
    if errors := [_describe_error(error) for error in _get_validator().iter_errors(value)]:
        return errors
    mapping = parse_mapping(value)
    return [
        *_find_path_problems(mapping),
        *_find_parameter_problems(mapping),
        *_find_argument_problems(mapping, arguments),
    ]


def list_arguments(mapping: RequestMapping) -> list[str]:
    """Return the arguments that a mapping sends."""
    names = [parameter.argument for parameter in mapping.parameters]
    if mapping.body:
        is_whole = bool(mapping.body.argument)  # then properties are its members
        names += [mapping.body.argument] if is_whole else [each.argument for each in mapping.body.properties]
    return names


def _find_path_problems(mapping: RequestMapping) -> list[str]:
    placeholders = set(_PLACEHOLDER.findall(mapping.path))
    in_path = {parameter.name for parameter in mapping.parameters if parameter.location == "path"}
    problems = [f"The path has {{{name}}}, but no parameter with this name." for name in sorted(placeholders - in_path)]
    problems += [
        f"The path has no {{{name}}}. Add it, or remove the parameter." for name in sorted(in_path - placeholders)
    ]
    if has_dot_segment(mapping.path):
        problems.append("The path has a segment of one or two dots. Write the path without them.")
    return problems


def has_dot_segment(path: str) -> bool:
    """Return whether a server may read a segment as one or two dots, also if it is encoded or behind a backslash."""
    while (decoded := unquote(path)) != path:
        path = decoded
    return any(segment in (".", "..") for segment in path.replace("\\", "/").split("/"))


def _find_parameter_problems(mapping: RequestMapping) -> list[str]:
    problems = []
    for parameter in mapping.parameters:
        if parameter.style not in STYLES[parameter.location]:
            styles = ", ".join(STYLES[parameter.location])
            problems.append(
                f"{parameter.name} cannot have the style {parameter.style}. In a {parameter.location}: {styles}."
            )
        if parameter.is_greedy and parameter.location != "path":
            problems.append(f"{parameter.name} cannot be greedy: only a parameter in the path can.")
        if parameter.location == "header" and not is_header_allowed(parameter.name):
            problems.append(f"An argument cannot set the header {parameter.name}.")
    problems += [f"An op cannot set the header {name}." for name in mapping.headers if not is_header_allowed(name)]
    if mapping.body and mapping.method == "HEAD":
        problems.append("A HEAD request has no body. Use another method, or remove the body.")
    return problems


def _find_argument_problems(mapping: RequestMapping, arguments: Collection[str]) -> list[str]:
    sent, known = dict.fromkeys(list_arguments(mapping)), frozenset(arguments)
    problems = [f"{name} is not an argument of the op." for name in sent if name not in known]
    unsent = [name for name in arguments if name not in sent]
    return problems + [f"The argument {name} is sent nowhere." for name in unsent]


def is_header_allowed(name: str) -> bool:
    """Return whether an op can set a header: not one that frames, routes or authenticates the request."""
    return bool(_HEADER_NAME.fullmatch(name)) and name.lower() not in RESERVED_HEADERS


def _describe_error(error: jsonschema_rs.ValidationError) -> str:
    place = "/".join(map(str, error.instance_path))
    return f"{place or 'The mapping'}: {error.message[:200]}."


@lru_cache(maxsize=1)
def _get_validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(SCHEMA)
