"""Read the answer of an upstream into the result of a call."""

from typing import Any

from core import http
from core.text import json_text
from core.text.json_text import NotStrictJSON
from gateway.contracts.errors import InternalError
from gateway.executors.base import UpstreamCall
from gateway.executors.http.request_body import is_json_type
from gateway.executors.remote import stored_files
from gateway.executors.remote.result_values import DONE, clean_value, wrap_value
from gateway.executors.remote.secret_redaction import NO_SECRETS, Redactor
from registry.text import cleanup

EMPTY_STATUSES = frozenset({204, 205})
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES = frozenset({"application/xml", "application/yaml", "application/x-yaml", "application/x-ndjson"})
CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252", "utf-16"})
FILE_NAME = "answer"
# What is wrong with an answer, by the code of NotStrictJSON, whose messages speak to who sent the text.
JSON_PROBLEMS = {
    "invalid_utf8": "it is not UTF-8",
    "invalid_json": "it is not valid JSON",
    "duplicate_key": "an object has the same key twice",
    "not_a_number": "it has NaN or an infinite number, which JSON does not allow",
    "number_out_of_range": "a number is out of range",
    "too_deep": f"it is nested more than {json_text.MAX_DEPTH} levels deep",
    "too_large": f"it has more than {json_text.ANSWER_LIMITS.values:,} values",
    "nul_character": "a string has a NUL character",
    "lone_surrogate": "a string has half of a surrogate pair",
}


def read_result(
    response: http.Response, work: UpstreamCall, *, accept: str, redactor: Redactor = NO_SECRETS
) -> dict[str, Any]:
    """Return the result of an answer with a success status. Raises InternalError (upstream_broken)."""
    body = b"" if response.status in EMPTY_STATUSES else response.body
    base, parameters = http.parse_parameters(response.headers, "content-type")
    if not body.strip():
        return dict(DONE)
    if base in HTML_TYPES and is_json_type(accept):
        raise _build_broken_error("it is a web page and not JSON")
    if is_json_type(base) or _looks_like_json(body, base):
        return wrap_value(redactor.redact_value(clean_value(parse_json(body))))
    disposition, named = http.parse_parameters(response.headers, "content-disposition")
    if disposition != "attachment" and is_text_type(base):
        text = decode_text(body, parameters.get("charset", ""))
        return {"text": redactor.redact_text(cleanup.strip_hidden_characters(text))}
    name = redactor.redact_text(named.get("filename") or FILE_NAME)
    content_type = redactor.redact_text(base) or "application/octet-stream"
    return {"file": stored_files.store_file(work, name, content_type, redactor.redact_bytes(body))}


def is_text_type(base: str) -> bool:
    """Return whether a content type, without its parameters, is text that a model can read."""
    return base.startswith("text/") or base.endswith("+xml") or base in TEXT_TYPES


def parse_json(body: bytes) -> Any:
    """Return the value of a JSON text, which may begin with a byte order mark. Raises InternalError."""
    try:
        return json_text.parse(body.removeprefix(b"\xef\xbb\xbf"), json_text.ANSWER_LIMITS)
    except NotStrictJSON as error:
        raise _build_broken_error(JSON_PROBLEMS.get(error.code, "it is not valid JSON")) from None


def decode_text(body: bytes, charset: str) -> str:
    """Return a body as text in a charset, UTF-8 by default. Raises InternalError."""
    charset = charset.lower().strip(" \"'") or "utf-8"
    try:
        return body.decode(charset if charset in CHARSETS else "utf-8")
    except UnicodeDecodeError:
        raise _build_broken_error(f"it is not {charset.upper() if charset in CHARSETS else 'UTF-8'}") from None


def _looks_like_json(body: bytes, base: str) -> bool:
    """Return whether an answer without a type of its own is JSON: many services send it as plain text."""
    return base in ("", "text/plain", "text/json", "application/x-json", "text/javascript") and body.lstrip()[:1] in (
        b"{",
        b"[",
    )


def _build_broken_error(problem: str) -> InternalError:
    return InternalError(
        f"The service's answer cannot be read: {problem}. Tell the administrator.", status=502, reason="upstream_broken"
    )
