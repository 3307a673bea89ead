"""What the bodies of help, exec and batch may hold: the same schemas that describe the gateway tools to a model."""

from functools import cache
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest

from core import strictjson
from gateway.errors import FieldError, Invalid, too_large, unsupported_media_type
from registry import schemas

HELP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "description": "Group or op, as the items of a help answer name it; nothing or root: the top",
        },
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": 1000,
            "description": "Words instead of a path: what you want to do",
        },
        "arg": {"type": "string", "minLength": 1, "description": "One argument of the op at path, told whole"},
        "format": {
            "type": "string",
            "enum": ["short", "full"],
            "description": "short (default): an op's args; full: also its usage, policy and examples",
        },
        "include_examples": {"type": "boolean", "description": "Examples in short too, or none in full"},
        "include_schemas": {"type": "boolean", "description": "The JSON Schema of the args too (full only)"},
        "max_tokens": {
            "type": "integer",
            "minimum": 1,
            "description": "Leave out what does not fit, the least useful first",
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": 200, "description": "Items of a group or search at most"},
        "cursor": {"type": "string", "minLength": 1, "maxLength": 400, "description": "next_cursor of the page before"},
    },
    "additionalProperties": False,
}

EXEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "op": {"type": "string", "minLength": 1, "description": "Path of the op, as help names it"},
        "args": {"type": "object", "description": "Its arguments, as its help names them"},
        "idempotency_key": {
            "type": "string",
            "pattern": r"^[\x21-\x7e]{1,255}$",
            "description": "1 to 255 visible ASCII characters; a write sent again with its key takes effect once",
        },
        "dry_run": {"type": "boolean", "description": "Tell what a write would do, and keep nothing"},
    },
    "required": ["op"],
    "additionalProperties": False,
}


_DEPENDS_ON = {
    "type": "array",
    "items": {"type": "integer", "minimum": 0},
    "maxItems": 50,
    "uniqueItems": True,
    "description": "Indexes of earlier entries that must have succeeded",
}

# One entry of a batch, by its type.
ENTRIES: dict[str, dict[str, Any]] = {
    "help": {
        **HELP,
        "properties": {"type": {"const": "help"}, **HELP["properties"], "depends_on": _DEPENDS_ON},
        "required": ["type"],
    },
    "exec": {
        **EXEC,
        "properties": {"type": {"const": "exec"}, **EXEC["properties"], "depends_on": _DEPENDS_ON},
        "required": ["type", "op"],
    },
}

# Of an entry only what any type has: what its own type asks for is told without the other type's rules.
BATCH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ops": {
            "type": "array",
            "minItems": 1,
            "maxItems": 50,
            "description": "The calls, each with its type",
            "items": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"type": "string", "enum": ["help", "exec"]}},
            },
        },
        "mode": {
            "type": "string",
            "enum": ["sequential", "parallel"],
            "description": "sequential (default): one after another; parallel: at once, where none needs another",
        },
        "stop_on_error": {"type": "boolean", "description": "Skip what has not begun once one has failed"},
        "idempotency_key": EXEC["properties"]["idempotency_key"],
    },
    "required": ["ops"],
    "additionalProperties": False,
}


@cache
def help_validator() -> schemas.Validator:
    """Return the compiled validator of a help body."""
    return schemas.Validator(HELP)


@cache
def exec_validator() -> schemas.Validator:
    """Return the compiled validator of an exec body."""
    return schemas.Validator(EXEC)


@cache
def batch_validator() -> schemas.Validator:
    """Return the compiled validator of a batch body, but for what its entries hold."""
    return schemas.Validator(BATCH)


@cache
def entry_validator(type: str) -> schemas.Validator:
    """Return the compiled validator of a batch's entry of one type."""
    return schemas.Validator(ENTRIES[type])


@cache
def key_pattern() -> schemas.Validator:
    """Return the validator of an idempotency key by itself, as a header holds it."""
    return schemas.Validator(EXEC["properties"]["idempotency_key"])


def idempotency_key(in_body: str | None, in_header: str | None) -> str | None:
    """Return the key that body or header name. Raises Invalid for a malformed header, and where the two differ."""
    if in_header is not None and not key_pattern().is_valid(in_header):
        raise Invalid("Idempotency-Key must be 1 to 255 visible ASCII characters.", reason="bad_header")
    if in_body is not None and in_header is not None and in_body != in_header:
        raise Invalid(
            "Idempotency-Key and idempotency_key differ. Send one of them.",
            reason="idempotency_key_mismatch",
            field_errors=[FieldError("/idempotency_key", "mismatch", "Send the same key as in the header, or none.")],
        )
    return in_body if in_body is not None else in_header


def check_size(request: HttpRequest) -> None:
    """Refuse a body by its Content-Length, before anything else is looked at. Raises Invalid (413)."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not str(length).isdecimal() or int(length) > settings.GATEWAY_BODY_MAX_BYTES:
        raise too_large(settings.GATEWAY_BODY_MAX_BYTES)


def read(request: HttpRequest) -> dict[str, Any]:
    """Return the JSON object that a request carries. Raises Invalid: 415, or 400 with the rule that was broken."""
    _check_media_type(request)
    raw = request.body
    _check_whole(request, raw)
    if not raw:
        raise Invalid('The body is empty. Send a JSON object, such as {"path": "root"}.', reason="invalid_json")
    try:
        body = strictjson.loads(raw)
    except strictjson.NotStrictJSON as error:
        raise Invalid(str(error), reason=error.code) from None
    if not isinstance(body, dict):
        raise Invalid(
            "The body is not an object. Send one JSON object.",
            reason="not_an_object",
            field_errors=[FieldError("", "type", "Send an object.", expected="object")],
        )
    return cast("dict[str, Any]", body)


def _check_whole(request: HttpRequest, raw: bytes) -> None:
    """Refuse what Django did not see whole: WSGI has no body without a Content-Length, nor an error for a cut one."""
    if not raw and "HTTP_TRANSFER_ENCODING" in request.META:
        raise Invalid("The body has no Content-Length. Send it in one piece, not chunked.", reason="length_required")
    declared = int(request.META.get("CONTENT_LENGTH") or 0)
    if len(raw) < declared:
        raise Invalid(f"The body ended after {len(raw)} of {declared} bytes. Send all of it.", reason="body_cut_off")


def _check_media_type(request: HttpRequest) -> None:
    charset = (request.content_params or {}).get("charset", "utf-8").strip('"').lower()
    encoded = request.META.get("HTTP_CONTENT_ENCODING", "identity").strip().lower()
    if request.content_type != "application/json" or charset not in ("utf-8", "utf8") or encoded != "identity":
        raise unsupported_media_type()
