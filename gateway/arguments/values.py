"""Find what a wrong value means, by the schema of its argument, for the corrected call of an error."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from core.text import english, json_text
from gateway.arguments import dates, number_words, words
from registry.catalog.model import CatalogOp
from registry.jsonschema.dialect import VALUE_ALIASES, VALUE_REFUSALS, Schema
from registry.vocabulary import NO_VOCABULARY, CatalogVocabulary

MIN_SIMILARITY = 0.85  # of a misspelt option. High: archived must not become active
FIELDS, ALL_FIELDS = "fields", "*"  # which fields of rows an answer has
MAX_ID_TEXT = 300  # characters in which an id is looked for

_PYTHON_TYPES: dict[str, Any] = {"integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list}
_BOOLEAN_WORDS = {
    "true": True,
    "yes": True,
    "y": True,
    "on": True,
    "false": False,
    "no": False,
    "n": False,
    "off": False,
}
_RECURRENCE_RULE = re.compile(r"(?:RRULE:)?FREQ=(DAILY|WEEKLY|MONTHLY|YEARLY)(?:;INTERVAL=([0-9]{1,2}))?")
_UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b[0-9a-fA-F]{32}\b")
_LIST_SEPARATOR = re.compile(r"[,;|\n]")
_LEVEL_NOUN = re.compile(r"(?<=[a-z]) (?:priority|impact|severity|importance|urgency|risk|level)\Z", re.IGNORECASE)
_STRONG = re.compile(r"\A(?:extremely|exceptionally|super|really|most) ", re.IGNORECASE)
_WEAK = re.compile(r"\A(?:quite|rather|fairly|somewhat|relatively|pretty) ", re.IGNORECASE)
_CONTENT_KEYS = ("id", "value", "dateTime", "date_time", "date", "email", "name", "title", "text", "content", "key")


def correct_value(name: str, argument: Schema, value: Any, *, op: CatalogOp, now: Callable[[], datetime]) -> Any:
    """Return the value that was meant, None if that is not certain. It may still break another rule of the schema."""
    kinds = _get_types(argument)
    if isinstance(value, list) and "array" not in kinds:
        return _join_list(name, kinds, value)
    if isinstance(value, dict) and "object" not in kinds:
        if name == FIELDS and value and all(isinstance(each, bool) for each in value.values()):
            return [each for each, is_wanted in value.items() if is_wanted]
        return [value] if "array" in kinds else _take_out_of_object(name, value)
    if argument.get("format") in dates.DATE_FORMATS:
        return dates.find_date(value, argument["format"], now=now(), name=name)
    if argument.get("format") == "uuid" and isinstance(value, str):
        ids = _UUID.findall(value[:MAX_ID_TEXT])
        return str(UUID(ids[0])) if len(ids) == 1 else None
    if (option := _find_option(argument, value, op.vocabulary)) is not None:
        return option
    if isinstance(value, str):
        return _parse_text(name, argument, value, op.entity)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _convert_number(argument, kinds, value)
    return [value] if "array" in kinds and not isinstance(value, list) else None


def clamp_limit(name: str, argument: Schema, value: Any) -> int | None:
    """Return the largest number of rows that a page has, for a limit above it."""
    maximum = argument.get("maximum")
    is_above = isinstance(value, int) and isinstance(maximum, int) and value > maximum
    return maximum if is_above and name in ("limit", "max_results") else None


def _get_types(argument: Schema) -> list[str]:
    kinds = argument.get("type", [])
    return list(kinds) if isinstance(kinds, list) else [kinds]


def _join_list(name: str, kinds: list[str], value: list[Any]) -> Any:
    """Return the single value of a list, or a text of its lines."""
    if len(value) == 1:
        return value[0]
    if "string" in kinds and value and all(isinstance(item, str) for item in value):
        return (" " if name in ("query", "title", "name") else "\n").join(value)
    return None


def _take_out_of_object(name: str, value: dict[str, Any]) -> Any:
    """Return the value that an object such as {"id": …} or {"dateTime": …, "timeZone": …} is about."""
    scalars = {key: item for key, item in value.items() if not isinstance(item, dict | list)}
    for key in (name, *_CONTENT_KEYS):
        if key in scalars:
            return scalars[key]
    return next(iter(scalars.values())) if len(value) == len(scalars) == 1 else None


def _convert_number(argument: Schema, kinds: list[str], value: float) -> Any:
    """Return a whole number as an integer, a percentage as a share, and a number in the list that takes it."""
    if "integer" in kinds and isinstance(value, float) and value.is_integer():
        return int(value)
    if "number" in kinds and number_words.is_share(argument) and 1 < value <= number_words.PERCENT:
        return value / number_words.PERCENT
    return [value] if "array" in kinds else None


def _find_option(argument: Schema, value: Any, vocabulary: CatalogVocabulary) -> Any:
    """Return the value of an enum, or of a scale with words for its numbers, that a value means."""
    aliases, refusals = argument.get(VALUE_ALIASES), argument.get(VALUE_REFUSALS)
    aliases = aliases if isinstance(aliases, dict) else {}
    options = {str(option): option for option in argument.get("enum", []) if option is not None} | aliases
    if not options or isinstance(value, bool | dict | list) or value is None:
        return None
    if isinstance(refusals, dict) and value in refusals:
        return None  # its message says what to do instead
    if not isinstance(value, str):
        return options.get(str(value))
    value = _STRONG.sub("very ", _WEAK.sub("", _LEVEL_NOUN.sub("", value.strip(" []\"'`"))))
    if (found := words.find_option(value, options, vocabulary)) is not None:
        return found
    matches = english.find_similar(value, options, limit=1, cutoff=MIN_SIMILARITY)
    if matches:
        return options[matches[0]]
    level = words.read_level(value)
    numbers = {option for option in options.values() if not isinstance(option, bool)} | set(
        range(argument.get("minimum", 1), argument.get("maximum", 0) + 1)
    )
    if level is not None and level in numbers:
        return level
    if words.find_option(value, {"critical": True}, NO_VOCABULARY):
        return words.find_option("high", options, NO_VOCABULARY)
    if words.find_option(value, {"lowest": True}, NO_VOCABULARY):
        return words.find_option("low", options, NO_VOCABULARY)
    return _find_recurrence(value, options)


def _find_recurrence(value: str, options: dict[str, Any]) -> Any:
    """Return the option of an iCalendar rule that has no more than a frequency and an interval."""
    rule = _RECURRENCE_RULE.fullmatch(value.strip().upper())
    if rule is None:
        return None
    word = {("WEEKLY", "2"): "biweekly"}.get(
        (rule[1], rule[2] or "1"), rule[1].lower() if rule[2] in (None, "1") else ""
    )
    return options.get(word)


def _parse_text(name: str, argument: Schema, text: str, entity: str) -> Any:
    """Return what a text holds where the schema has another type: JSON, a list with commas, yes or no, a duration."""
    kinds = _get_types(argument)
    parsed = _parse_json(text)
    if any(_is_instance(parsed, _PYTHON_TYPES.get(kind, ())) for kind in kinds):
        return parsed
    if "boolean" in kinds:
        return _BOOLEAN_WORDS.get(text.strip().lower())
    if "array" in kinds:
        return _split_list(name, text)
    if "integer" in kinds or "number" in kinds:
        return number_words.read_number(name, argument, text)
    if "pattern" in argument and entity:
        return f"{entity}.{english.to_snake_case(text[:100])}"
    return None


def _split_list(name: str, text: str) -> list[str]:
    """Return the parts of a list in one text. `fields` with a word such as all are all fields, which is *."""
    parts = [part.strip(" \"'") for part in _LIST_SEPARATOR.split(text.strip().strip("[]")) if part.strip()]
    is_all = name == FIELDS and len(parts) == 1 and english.to_snake_case(parts[0]).split("_")[0] in english.ALL_WORDS
    return [ALL_FIELDS] if is_all else parts


def _parse_json(text: str) -> Any:
    try:
        return json_text.parse(text.encode())
    except json_text.NotStrictJSON:
        return None


def _is_instance(value: Any, types: Any) -> bool:
    return isinstance(value, types) and (not isinstance(value, bool) or types is bool)
