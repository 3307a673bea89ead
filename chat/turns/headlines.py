"""The line of a card: what a call asked for or what came back, in words for people."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from chat.gateway import envelopes
from chat.turns import wording

MAX_HEADLINE = 140
MAX_LISTED_FIELDS = 3
FOUND_ACTIONS = frozenset({"search", "find"})
NAMES = ("query", "title", "name", "path")  # arguments that say what a call is about
ERROR_WORDS = {
    "not_run": "Not run",
    "declined": "You said no. Nothing was done.",
    "gateway_unavailable": "The gateway could not be reached",
    "input_expired": "The question had expired. Ask again.",
    "input_answered": "The question was answered before",
}

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z“0-9a-z])")
_OP_OR_FIELD = re.compile(r"\b[a-z][a-z0-9]*(?:[._][a-z0-9]+)+\b|`")  # words for models: onto.task.get, state_key
_FIELD = re.compile(r"\b([a-z]+(?:_[a-z]+)*)_(?:key|at|id|ms|minutes)\b")


def build_headline(args: Mapping[str, Any], answer: Mapping[str, Any] | None, zone: tzinfo = UTC) -> str:
    """Return what came back, or what is asked for while nothing has. Times are in the user's zone.

    What the user must do is never cut.
    """
    if answer is None:
        return _clip(_describe_args(args))
    if action := envelopes.get_user_action(answer):
        return _drop_words_for_models(action.text) or action.text
    texts = [text for each in envelopes.iter_envelopes(answer) if (text := _describe_envelope(each, args))]
    return _clip(format_times(" · ".join(dict.fromkeys(texts)), zone))


def is_empty(answer: Mapping[str, Any] | None) -> bool:
    """Whether a list or a search found nothing."""
    return bool(answer) and all(_count_rows(each) == 0 for each in envelopes.iter_envelopes(answer or {}))


def format_times(text: str, zone: tzinfo) -> str:
    """Return a text with its times as people write them: 2026-11-25T09:00:00Z as 25 Nov 10:00 in Berlin."""
    return _TIME.sub(lambda match: _format_time(match[0], zone), text)


def _format_time(text: str, zone: tzinfo) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    moment = moment.astimezone(zone) if moment.tzinfo else moment  # without an offset, it is the user's time
    return f"{moment.day} {moment:%b %H:%M}"


def _describe_envelope(envelope: Mapping[str, Any], args: Mapping[str, Any]) -> str:
    if error := envelopes.get_error(envelope):
        return _describe_error(envelope, error)
    if envelope.get("type") in ("search", "group", "op", "arg"):
        return _describe_help(envelope)
    result = _read_result(envelope)
    meta = envelope.get("meta")
    operation: Any = (meta.get("operation") if isinstance(meta, Mapping) else None) or {}
    message = result.get("message")
    message = message if isinstance(message, str) else ""
    if operation and envelopes.is_write(operation):
        return _describe_write(operation, result, message, args)
    if (counted := _describe_rows(result, operation)) is not None:
        return counted
    return _quote(_find_title(result)) or _drop_words_for_models(message)


def _describe_error(envelope: Mapping[str, Any], error: Mapping[str, Any]) -> str:
    reason, message = envelopes.get_reason(envelope), str(error.get("message") or "")
    if words := ERROR_WORDS.get(reason):
        return words
    details = error.get("details")
    if reason == envelopes.CONFIRMATION_REQUIRED and isinstance(details, Mapping):
        operation = (details.get("confirmation") or {}).get("operation") or {}
        return f"{wording.name_decision(operation)[0]}?"
    if reason == envelopes.INPUT_REQUIRED and isinstance(details, Mapping):
        return str(details.get("message") or "")
    listed = details.get("field_errors") if isinstance(details, Mapping) else None
    errors = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, list) else []
    paths = dict.fromkeys(str(each.get("path", "")).strip("/").partition("/")[0] for each in errors)
    if names := [_name_field(path) for path in paths if path]:
        more = f" and {len(names) - MAX_LISTED_FIELDS} more" if len(names) > MAX_LISTED_FIELDS else ""
        return f"Wrong or missing: {', '.join(names[:MAX_LISTED_FIELDS])}{more}"
    return _drop_words_for_models(message) or message


def _describe_help(answer: Mapping[str, Any]) -> str:
    if answer.get("type") == "search":
        number = _count_rows(answer) or 0
        return f"{_count(number, 'tool', 'tools')} found for {_quote(answer.get('query'))}"
    path = str(answer.get("path") or "")
    if answer.get("type") == "group":
        return f"Looked into {path}" if path not in ("", "root") else "Looked at what can be done"
    return f"Read how to use {path}"


def _describe_write(
    operation: Mapping[str, Any], result: Mapping[str, Any], message: str, args: Mapping[str, Any]
) -> str:
    """Return what a write changed: from what to what, else the row. That it was done is said below the answer."""
    if "→" in message:
        return wording.space_out(_FIELD.sub(r"\1", message.partition("”: ")[2] or message)).rstrip(".")
    name = operation.get("entity_name") or _find_title(result)
    return _quote(name) or _describe_args(args) or _drop_words_for_models(message)


def _describe_rows(result: Mapping[str, Any], operation: Mapping[str, Any]) -> str | None:
    """Return how many rows came back; None if the result is not a list."""
    if (found := _find_rows(result)) is None:
        return None
    name, rows = found
    total = result.get("total")
    number = total if isinstance(total, int) and not isinstance(total, bool) else len(rows)
    plural = name.replace("_", " ")
    singular = str(operation.get("entity") or "").replace("_", " ") or plural.removesuffix("s")
    ending = " found" if operation.get("action") in FOUND_ACTIONS else ""
    if number > len(rows) > 0:
        return f"{len(rows):,} of {_count(number, singular, plural)}{ending}"
    return f"{_count(number, singular, plural)}{ending}"


def _count_rows(envelope: Mapping[str, Any]) -> int | None:
    """Return how many rows an answer has; None if it is not a list."""
    if envelope.get("type") == "search" and isinstance(envelope.get("items"), list):
        return len(envelope["items"])
    found = None if envelopes.get_error(envelope) else _find_rows(_read_result(envelope))
    return None if found is None else len(found[1])


def _read_result(envelope: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the result of an envelope; services also answer with a bare list."""
    result = envelope.get("result")
    if isinstance(result, list):
        return {"rows": result}
    return result if isinstance(result, Mapping) else {}


def _find_rows(result: Mapping[str, Any]) -> tuple[str, list[Any]] | None:
    """Return the name and the rows of a result that is a list. One row with lists in it is none."""
    if any(isinstance(value, Mapping) for value in result.values()):
        return None
    lists = [(name, value) for name, value in result.items() if isinstance(value, list)]
    return lists[0] if len(lists) == 1 else None


def _find_title(result: Mapping[str, Any]) -> object:
    """Return the name of the only row in a result."""
    rows = [value for value in result.values() if isinstance(value, Mapping)]
    return (rows[0].get("title") or rows[0].get("name")) if len(rows) == 1 else None


def _describe_args(args: Mapping[str, Any]) -> str:
    """Return the first text among the arguments that says what a call is about."""
    inner = args.get("args")
    for values in (inner if isinstance(inner, Mapping) else {}, args):
        for name in NAMES:
            if isinstance(values.get(name), str):
                return _quote(values[name])
    return ""


def _drop_words_for_models(message: str) -> str:
    """Return the sentences of a message that name neither ops nor fields."""
    return " ".join(each for each in _iter_sentences(message) if not _OP_OR_FIELD.search(each))


def _iter_sentences(text: str) -> Iterator[str]:
    yield from (each.strip() for each in _SENTENCE_END.split(text) if each.strip())


def _name_field(name: str) -> str:
    """Return the name of a field as people say it: state_key as state."""
    return wording.space_out(_FIELD.sub(r"\1", name))


def _count(number: int, singular: str, plural: str) -> str:
    return f"{f'{number:,}' if number else 'No'} {singular if number == 1 else plural}"


def _quote(text: object) -> str:
    return f"“{text}”" if isinstance(text, str) and text else ""


def _clip(text: str) -> str:
    return text if len(text) <= MAX_HEADLINE else f"{text[: MAX_HEADLINE - 1]}…"
