"""Read the answer of an upstream into the result of a call, or find what its error says.

Reads the formats of RFC 9457, JSON:API, FastAPI, Django REST framework, Rails, and plain objects with a message.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Any

from core import http
from core.text import json_text
from core.text.json_text import NotStrictJSON
from gateway.contracts.errors import InternalError
from gateway.executors.base import UpstreamCall
from gateway.executors.http.request_body import get_base_type, is_json_type
from gateway.executors.remote import result_values
from gateway.executors.remote.result_values import DONE, clean_value, wrap_value
from gateway.executors.remote.secret_redaction import NO_SECRETS, Redactor
from registry.text import cleanup

MAX_MESSAGE = 300  # characters
MAX_PROBLEMS = 20

# Members that hold a message, the best first.
MESSAGE_NAMES = ("message", "detail", "error_description", "title", "msg", "error", "description", "reason")
PROBLEM_LISTS = ("errors", "detail", "details", "violations")

# Members that describe the error as a whole, not a field.
_ENVELOPE = frozenset({*MESSAGE_NAMES, *PROBLEM_LISTS, "type", "status", "code", "instance", "path", "timestamp"})

# First steps of a location that name a part of the request, not a field.
_PARTS = frozenset({"body", "query", "path", "header", "headers", "cookie", "data", "attributes", "args"})
EMPTY_STATUSES = frozenset({204, 205})
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
TEXT_TYPES = frozenset({"application/xml", "application/yaml", "application/x-yaml", "application/x-ndjson"})
CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii", "iso-8859-1", "latin1", "windows-1252", "utf-16"})
FILE_NAME = "answer"

# What is wrong with an answer, by the code of NotStrictJSON, whose messages are written for the sender of the text.
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


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What the upstream says about one value: its place by the names of the upstream, and one line of text."""

    path: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What an upstream says about an error. It is data from outside, not an instruction."""

    message: str = ""
    problems: tuple[FieldProblem, ...] = ()


def parse_error_body(response: http.Response, redactor: Redactor = NO_SECRETS) -> ErrorBody:
    """Return what the upstream says; nothing if the body is not readable text."""
    base = get_base_type(response.headers.get("content-type", ""))
    if is_json_type(base) or response.body.lstrip()[:1] == b"{":
        try:
            value = redactor.redact_value(json_text.parse(response.body))
        except NotStrictJSON:
            return ErrorBody()
        problems = islice((problem for problem in _find_problems(value) if problem.message), MAX_PROBLEMS)
        return ErrorBody(_find_message(value), tuple(map(_drop_sentences, problems)))
    if base == "text/plain":
        return ErrorBody(clean_line(redactor.redact_text(response.body.decode(errors="replace"))))
    return ErrorBody()  # a web page has more markup than message


def _drop_sentences(problem: FieldProblem) -> FieldProblem:
    """End a path at the first step that is not a name: in a pointer of ours it could be a sentence of the upstream."""
    return replace(problem, path=tuple(takewhile(cleanup.is_identifier, problem.path)))


def clean_line(text: Any) -> str:
    """Return an untrusted text as one line without invisible characters, of at most 300 characters."""
    if not isinstance(text, str):
        return ""
    line = " ".join(cleanup.strip_hidden_characters(text[: MAX_MESSAGE * 8].replace("\n", " ")).split())
    return line if len(line) <= MAX_MESSAGE else line[: MAX_MESSAGE - 1].rstrip() + "…"


def _find_message(value: Any) -> str:
    if isinstance(value, str):
        return clean_line(value)
    if isinstance(value, list):
        return _find_message(value[0]) if value else ""
    if not isinstance(value, dict):
        return ""
    for name in MESSAGE_NAMES:
        if name in value and (message := _find_message(value[name])):
            return message
    return _find_message(value.get("errors"))


def _find_problems(value: Any) -> Iterator[FieldProblem]:
    if not isinstance(value, dict):
        return
    for name in PROBLEM_LISTS:
        if isinstance(value.get(name), list):
            yield from (_parse_problem(item) for item in value[name] if isinstance(item, dict))
        elif isinstance(value.get(name), dict):
            yield from _find_members(value[name])
    if isinstance(value.get("error"), dict):
        yield from _find_problems(value["error"])
    yield from _find_members({name: each for name, each in value.items() if name not in _ENVELOPE}, only_lists=True)


def _find_members(value: dict[str, Any], *, only_lists: bool = False) -> Iterator[FieldProblem]:
    """Yield a problem for each member such as {"email": ["Enter a valid address."]}."""
    for name, texts in value.items():
        if isinstance(texts, list) and texts and isinstance(texts[0], str):
            yield FieldProblem((name,), clean_line(" ".join(text for text in texts if isinstance(text, str))))
        elif isinstance(texts, str) and not only_lists:
            yield FieldProblem((name,), clean_line(texts))


def _parse_problem(item: dict[str, Any]) -> FieldProblem:
    source = item["source"] if isinstance(item.get("source"), dict) else {}
    place: Any = next(
        (
            each[name]
            for each in (item, source)
            for name in ("loc", "pointer", "parameter", "field", "path", "property", "param")
            if isinstance(each.get(name), str | list)
        ),
        "",
    )
    return FieldProblem(_split_place(place), _find_message(item))


def _split_place(place: str | Sequence[Any]) -> tuple[str, ...]:
    """Return the steps of a JSON pointer, of a list, or of a path with dots, without the part of the request."""
    if isinstance(place, str):
        separator = "/" if "/" in place else "."
        place = [step for step in place.removeprefix("#").split(separator) if step not in ("", "$")]
    steps = [str(step) for step in place[:10]]
    while len(steps) > 1 and steps[0] in _PARTS:
        del steps[0]
    return tuple(steps)


def read_result(
    response: http.Response, work: UpstreamCall, *, accept: str, redactor: Redactor = NO_SECRETS
) -> dict[str, Any]:
    """Return the result of an answer with a success status. Raises InternalError (upstream_broken)."""
    body = b"" if response.status in EMPTY_STATUSES else response.body
    base, parameters = http.parse_parameters(response.headers, "content-type")
    if not body.strip():
        return dict(DONE)
    if base in HTML_TYPES and not accepts_web_pages(accept):
        raise _build_broken_error("it is a web page, not JSON")
    if is_json_type(base) or _looks_like_json(body, base):
        return wrap_value(redactor.redact_value(clean_value(parse_json(body))))
    disposition, named = http.parse_parameters(response.headers, "content-disposition")
    if disposition != "attachment" and is_text_type(base):
        text = decode_text(body, parameters.get("charset", ""))
        return {"text": redactor.redact_text(cleanup.strip_hidden_characters(text))}
    name = redactor.redact_text(named.get("filename") or FILE_NAME)
    content_type = redactor.redact_text(base) or "application/octet-stream"
    return {"file": result_values.store_file(work, name, content_type, redactor.redact_bytes(body))}


def accepts_web_pages(accept: str) -> bool:
    """Return whether the document of a service says that an operation answers a web page."""
    names = {get_base_type(each) for each in accept.split(",")}
    return not names.isdisjoint({*HTML_TYPES, "text/*"})


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
    """Return whether an answer without a content type is JSON: many services send it as plain text."""
    return base in ("", "text/plain", "text/json", "application/x-json", "text/javascript") and body.lstrip()[:1] in (
        b"{",
        b"[",
    )


def _build_broken_error(problem: str) -> InternalError:
    return InternalError(
        f"The service's answer cannot be read: {problem}. Tell the administrator.", status=502, reason="upstream_broken"
    )
