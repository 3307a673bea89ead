"""Questions of MCP servers (elicitation), read into our form.

Only what the protocol allows in a form is taken over: flat objects of texts, numbers, yes or no, and choices. A server
that asks for something else is refused with a sentence.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult, InputRequest

from core.text import json_text
from gateway.contracts.user_questions import UserAnswer, UserQuestion
from registry.jsonschema.validator import SchemaValidator
from registry.text import cleanup

MAX_QUESTIONS = 10
MAX_FIELDS = 50
MAX_OPTIONS = 200
MAX_MESSAGE, MAX_TEXT, MAX_NAME = 1_000, 300, 100  # characters
MAX_URL = 2_000
MAX_SCHEMA_BYTES = 20_000
MAX_NUMBER = 2**53  # integers up to here are the same in JavaScript
FORMATS = frozenset({"email", "uri", "date", "date-time"})
_LIMITS = {
    "string": ("minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "boolean": (),
    "array": ("minItems", "maxItems"),
}


class UnsupportedQuestion(Exception):
    """The gateway cannot pass a question on. The message says why, in words that follow "The tool"."""


def read_questions(requests: Mapping[str, InputRequest]) -> dict[str, UserQuestion]:
    """Return the questions of a result by their names. Raises UnsupportedQuestion."""
    if len(requests) > MAX_QUESTIONS:
        raise UnsupportedQuestion(f"asks its user more than {MAX_QUESTIONS} questions at once")
    return {name: _read_request(request) for name, request in requests.items()}


def _read_request(request: InputRequest) -> UserQuestion:
    if isinstance(request, ElicitRequest):
        return read_question(request.params)
    if request.method == "sampling/createMessage":
        raise UnsupportedQuestion("asks for the answer of a language model (sampling), which the gateway never runs")
    raise UnsupportedQuestion("asks for the folders of its user (roots), which the gateway does not have")


def read_question(params: ElicitRequestFormParams | ElicitRequestURLParams) -> UserQuestion:
    """Return one question. Raises UnsupportedQuestion."""
    message = _clean(params.message, MAX_MESSAGE)
    if isinstance(params, ElicitRequestURLParams):
        return UserQuestion(message or "Open the page to go on.", url=_read_url(params.url))
    return UserQuestion(message or "Fill in the form.", schema=read_schema(params.requested_schema))


def read_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a form, with what the protocol allows in it and nothing else. Raises UnsupportedQuestion."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or len(properties) > MAX_FIELDS or not isinstance(required, list):
        raise UnsupportedQuestion("asks its user with a form that does not follow the protocol")
    form = {
        "type": "object",
        "properties": {_check_name(name): _read_field(field) for name, field in properties.items()},
        "required": [name for name in properties if name in required],
        "additionalProperties": False,
    }
    if len(json_text.dump(form)) > MAX_SCHEMA_BYTES:
        raise UnsupportedQuestion("asks its user with a form that is too long")
    try:
        SchemaValidator(form)
    except (ValueError, TypeError):
        raise UnsupportedQuestion("asks its user with a form whose schema is not valid") from None
    return form


def to_result(answer: UserAnswer) -> ElicitResult:
    """Return an answer as the protocol has it."""
    content = dict(answer.content) if answer.action == "accept" and answer.content is not None else None
    return ElicitResult(action=answer.action, content=content)


def _read_field(field: Any) -> dict[str, Any]:
    kind = field.get("type") if isinstance(field, dict) else None
    if kind not in _LIMITS:
        raise UnsupportedQuestion("asks its user with a form whose fields are not texts, numbers, choices or yes or no")
    read: dict[str, Any] = {"type": kind}
    read |= {name: text for name in ("title", "description") if (text := _clean(field.get(name), MAX_TEXT))}
    read |= {name: field[name] for name in _LIMITS[kind] if _is_number(field.get(name))}
    if kind == "array":
        if not (options := _read_options(field.get("items"), "anyOf")):
            raise UnsupportedQuestion("asks its user with a form whose list has no choices")
        read["items"] = {"type": "string"} | options
    elif kind == "string":
        read |= _read_options(field, "oneOf")
        if field.get("format") in FORMATS:
            read["format"] = field["format"]
    if "default" in field and SchemaValidator(read).is_valid(field["default"]):
        read["default"] = field["default"]
    return read


def _read_options(field: Any, titles: str) -> dict[str, Any]:
    """Return the choices of a field, with titles in `titles` (oneOf or anyOf) if there are any; {} for a free text."""
    field = field if isinstance(field, dict) else {}
    titled, values = field.get("oneOf", field.get("anyOf")), field.get("enum")
    if isinstance(titled, list):
        pairs = [(each.get("const"), each.get("title")) if isinstance(each, dict) else (None, None) for each in titled]
    elif isinstance(values, list):
        names = field.get("enumNames")  # as it was before 2025-11-25
        names = names if isinstance(names, list) and len(names) == len(values) else [None] * len(values)
        pairs = list(zip(values, names, strict=True))
    else:
        return {}
    if not 0 < len(pairs) <= MAX_OPTIONS or not all(isinstance(value, str) for value, _ in pairs):
        raise UnsupportedQuestion("asks its user with a form whose choices do not follow the protocol")
    if not any(isinstance(title, str) for _, title in pairs):
        return {"enum": [value for value, _ in pairs]}
    return {titles: [{"const": value, "title": _clean(title, MAX_TEXT) or value} for value, title in pairs]}


def _check_name(name: Any) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or cleanup.strip_hidden_characters(name) != name:
        raise UnsupportedQuestion("asks its user with a form whose fields have no usable names")
    return name


def _read_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.username is None
    except ValueError:
        is_usable = False
    if not is_usable or len(url) > MAX_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise UnsupportedQuestion("asks its user to open an address that is not a web page")
    return url


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER


def _clean(text: Any, most: int) -> str:
    return cleanup.strip_hidden_characters(text).strip()[:most] if isinstance(text, str) else ""
