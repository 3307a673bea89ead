"""Find what the error of an upstream says: one message, and problems of single values.

Reads the formats of RFC 9457, JSON:API, FastAPI, Django REST framework, Rails, SOAP, and objects with a message under
any of its usual names. If none is known, the beginning of the body is the message.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Any

from core import http
from core.text import decoding, json_text
from core.text.lenient_json import LenientReader, UnreadableJSON, looks_like_json
from gateway.executors.http.request_body import get_base_type, is_json_type
from gateway.executors.remote.secret_redaction import NO_SECRETS, Redactor
from registry.text import cleanup

MAX_MESSAGE = 300  # characters
MAX_PROBLEMS = 20
MAX_MESSAGE_DEPTH = 4  # objects and lists around a message
MAX_READ = 20_000  # characters of a body that is not JSON

# Members that hold a message, the best first, in small letters without separators.
MESSAGE_NAMES = (
    *("message", "detail", "errordescription", "title", "msg", "errormessage", "errormsg", "errmsg", "error"),
    *("faultstring", "description", "reason", "statusmessage", "usermessage", "exceptionmessage", "developermessage"),
    *("exception", "fault", "errortext", "errorsummary", "errorinfo", "problem", "explanation", "summary", "info"),
)
PROBLEM_LISTS = ("errors", "detail", "details", "violations", "ModelState")

# Members that describe the error as a whole, not a field.
_ENVELOPE = frozenset({*MESSAGE_NAMES, *PROBLEM_LISTS, "type", "status", "code", "instance", "path", "timestamp"})

# First steps of a location that name a part of the request, not a field.
_PARTS = frozenset({"body", "query", "path", "header", "headers", "cookie", "data", "attributes", "args"})
_MARKUP_TYPES = ("html", "xml")  # ends of content types
_UNREAD_ELEMENTS = frozenset({"script", "style", "svg", "head"})
_MESSAGE_ELEMENT = re.compile(
    r"(?i)<(?:[\w.-]{1,40}:)?(?:message|faultstring|reason|detail|description|errormessage|error_message|error)\b[^<>]*>"
    r"([^<>]{1,2000})<"
)
_TAG = re.compile(r"<(/?)([a-zA-Z]{0,10})[^<>]*>")
_SECTION = re.compile(r"<!\[CDATA\[|\]\]>")


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
    """Return what the upstream says; nothing if the body is empty or no text."""
    content_type, parameters = http.parse_parameters(response.headers, "content-type")
    base = get_base_type(content_type)
    declared = decoding.find_declared_charset(response.body) if base.endswith(_MARKUP_TYPES) else ""
    text = decoding.decode(response.body, parameters.get("charset", ""), declared).text
    if is_json_type(base) or looks_like_json(text):
        try:
            value = redactor.redact_value(LenientReader().parse(text))
        except UnreadableJSON:
            pass
        else:
            problems = islice((problem for problem in _find_problems(value) if problem.message), MAX_PROBLEMS)
            message = _find_message(value) or (clean_line(json_text.dump(value).decode()) if value else "")
            return ErrorBody(message, tuple(map(_drop_sentences, problems)))
    if not (is_json_type(base) or base.startswith("text/") or base.endswith(_MARKUP_TYPES) or not base):
        return ErrorBody()
    text = redactor.redact_text(text[:MAX_READ])
    return ErrorBody(clean_line(_find_words(text) if "<" in text else text))


def _find_words(text: str) -> str:
    """Return the message of an XML document, else the words of a page without its markup."""
    text = _SECTION.sub("", text)
    messages = (match[1].strip() for match in _MESSAGE_ELEMENT.finditer(text))
    return html.unescape(next(filter(None, messages), "") or _strip_markup(text))


def _strip_markup(text: str) -> str:
    words, start, unread = [], 0, ""
    for tag in _TAG.finditer(text):
        if not unread:
            words.append(text[start : tag.start()])
        name, start = tag[2].lower(), tag.end()
        if tag[1]:
            unread = "" if name == unread else unread
        elif not unread and name in _UNREAD_ELEMENTS:
            unread = name
    return " ".join([*words, "" if unread else text[start:]])


def _drop_sentences(problem: FieldProblem) -> FieldProblem:
    """End a path at the first step that is not a name: in a pointer of ours it could be a sentence of the upstream."""
    return replace(problem, path=tuple(takewhile(cleanup.is_identifier, problem.path)))


def clean_line(text: Any) -> str:
    """Return an untrusted text as one line without invisible characters, of at most 300 characters."""
    if not isinstance(text, str):
        return ""
    line = " ".join(cleanup.strip_hidden_characters(text[: MAX_MESSAGE * 8].replace("\n", " ")).split())
    return line if len(line) <= MAX_MESSAGE else line[: MAX_MESSAGE - 1].rstrip() + "…"


def _find_message(value: Any, depth: int = 0) -> str:
    """Return the best message in a value; all texts of a list of texts."""
    if isinstance(value, str):
        return clean_line(value)
    if depth > MAX_MESSAGE_DEPTH or not isinstance(value, list | dict):
        return ""
    if isinstance(value, list):
        texts = [each for each in value if isinstance(each, str)]
        return _join_texts(texts) or next(filter(None, (_find_message(each, depth + 1) for each in value[:10])), "")
    members = {_simplify(name): each for name, each in reversed(value.items())}
    for name in MESSAGE_NAMES:
        if name in members and (message := _find_message(members[name], depth + 1)):
            errors = members.get("errors")
            more = _join_texts(errors) if isinstance(errors, list) else ""
            return clean_line(f"{message} {more}") if more and more not in message else message
    if message := _find_message(members.get("errors"), depth + 1):
        return message
    nested = (each for each in value.values() if isinstance(each, dict))
    return next(filter(None, (_find_message(each, depth + 1) for each in nested)), "")


def _join_texts(values: Iterable[Any]) -> str:
    return clean_line("; ".join(each.strip() for each in islice(values, MAX_PROBLEMS) if isinstance(each, str)))


def _simplify(name: str) -> str:
    """Return a name in small letters, without separators and prefixes: errormessage for err:Error_Message."""
    return name.rpartition(":")[2].replace("_", "").replace("-", "").lower()


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
    others = {name: each for name, each in value.items() if _simplify(name) not in _ENVELOPE}
    yield from _find_members(others, only_lists=True)


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
