"""Read the answer of an upstream into the result of a call."""

from email.headerregistry import ContentDispositionHeader, HeaderRegistry
from typing import Any, cast

from core import http, strict_json
from core.strict_json import NotStrictJSON
from gateway.contracts.errors import InternalError
from gateway.executors.base import UpstreamCall
from gateway.executors.http.request_body import get_base_type, is_json_type
from gateway.executors.remote import stored_files
from gateway.executors.remote.result_values import DONE, clean_value, wrap_value
from registry.text import cleanup

EMPTY_STATUSES = frozenset({204, 205})
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES = frozenset({"application/xml", "application/yaml", "application/x-yaml", "application/x-ndjson"})
CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252", "utf-16"})
FILE_NAME = "answer"
_HEADERS = HeaderRegistry()
# What is wrong with an answer, by the code of NotStrictJSON, whose messages speak to who sent the text.
JSON_PROBLEMS = {
    "invalid_utf8": "it is not UTF-8",
    "invalid_json": "it is not valid JSON",
    "duplicate_key": "an object has the same key twice",
    "not_a_number": "it has NaN or an infinite number, which JSON does not allow",
    "number_out_of_range": "a number is out of range",
    "too_deep": f"it is nested more than {strict_json.MAX_DEPTH} levels deep",
    "too_large": f"it has more than {strict_json.ANSWER_LIMITS.values:,} values",
    "nul_character": "a string has a NUL character",
    "lone_surrogate": "a string has half of a surrogate pair",
}


def read_result(response: http.Response, work: UpstreamCall, *, accept: str) -> dict[str, Any]:
    """Return the result of an answer with a success status. Raises InternalError (upstream_broken)."""
    body = b"" if response.status in EMPTY_STATUSES else response.body
    content_type = response.headers.get("content-type", "")
    base = get_base_type(content_type)
    if not body.strip():
        return dict(DONE)
    if base in HTML_TYPES and is_json_type(accept):
        raise _build_broken_error("it is a web page and not JSON")
    if is_json_type(base) or _looks_like_json(body, base):
        return wrap_value(clean_value(parse_json(body)))
    disposition = _read_disposition(response)
    if disposition.content_disposition != "attachment" and is_text_type(base):
        return {"text": cleanup.strip_hidden_characters(decode_text(body, content_type))}
    name = disposition.params.get("filename") or FILE_NAME
    return {"file": stored_files.store_file(work, name, base or "application/octet-stream", body)}


def is_text_type(base: str) -> bool:
    """Return whether a content type, without its parameters, is text that a model can read."""
    return base.startswith("text/") or base.endswith("+xml") or base in TEXT_TYPES


def _read_disposition(response: http.Response) -> ContentDispositionHeader:
    header = response.headers.get("content-disposition", "").replace("\r", " ").replace("\n", " ")
    return cast(ContentDispositionHeader, _HEADERS("content-disposition", header))


def parse_json(body: bytes) -> Any:
    """Return the value of a JSON text, which may begin with a byte order mark. Raises InternalError."""
    try:
        return strict_json.loads(body.removeprefix(b"\xef\xbb\xbf"), strict_json.ANSWER_LIMITS)
    except NotStrictJSON as error:
        raise _build_broken_error(JSON_PROBLEMS.get(error.code, "it is not valid JSON")) from None


def decode_text(body: bytes, content_type: str) -> str:
    """Return a body as text in the charset of its content type, UTF-8 by default. Raises InternalError."""
    _, _, charset = content_type.lower().partition("charset=")
    charset = charset.partition(";")[0].strip(" \"'") or "utf-8"
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
