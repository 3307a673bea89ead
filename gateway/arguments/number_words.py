"""Read numbers in words, with units, and as shares: "two hours", "a dozen", "very likely", "€19.50"."""

import re

from dateutil.relativedelta import relativedelta
from django.utils.dateparse import parse_duration

from core.text import english
from gateway.arguments import dates
from registry.jsonschema.dialect import Schema

MAX_LENGTH = 30  # characters
PERCENT = 100

_DURATION_PART = re.compile(
    r"([0-9]{1,5}(?:\.[0-9]{1,3})?)\s*(hours?|hrs?|h|minutes?|mins?|m|days?|d|weeks?|w)?[\s,]*(?:and\s+)?"
)
_MINUTES = {"m": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}
_UNIT_OF_NAME = (("minutes", 1), ("hours", 60), ("days", 24 * 60), ("weeks", 7 * 24 * 60))
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,3})?) ?(?:%|percent|per cent)")
_RATIO = re.compile(r"([0-9]{1,3}) ?(?:in|out of|of|/) ?([0-9]{1,3})")
_FULL_HOUR = re.compile(r"([0-9]{1,2})(?::00|h| ?o'clock)(?::00)?")
_HALF_DAY_HOUR = re.compile(r"(1[0-2]|0?[1-9])(?::00)? ?([ap])\.?m\.?")
_AMOUNT = re.compile(r"[0-9]{1,9}(?:[.,][0-9]{1,2})?")
_THOUSANDS = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,2})?) ?k")
_CURRENCY = re.compile(r"[€$£]|\b(?:euros?|eur|dollars?|usd|pounds?|gbp)\b")
_SAME_DURATIONS = (
    (re.compile(r"\b(?:an?|one) (hour|day|week) and a half\b"), r"1.5 \1"),
    (re.compile(r"\bone and a half (hour|day|week)s\b"), r"1.5 \1"),
    (re.compile(r"\b(?:half an?|an? half) (hour|day)\b"), r"0.5 \1"),
    (re.compile(r"\b(?:quarter of an|a quarter) hour\b"), "15 minutes"),
    (re.compile(r"\bthree[ -]quarters of an hour\b"), "45 minutes"),
    (re.compile(r"\bfortnight\b"), "2 weeks"),
    (re.compile(r"\ban? (?=2 weeks)"), ""),
    (re.compile(r"\b(?:a |one )?(?:full|whole|entire) (?=hour|day|week)"), "1 "),
    (re.compile(r"\ba couple(?: of)? (?=[a-z])"), "2 "),
    (re.compile(r"\ba few (?=[a-z])"), "3 "),
)
_HEDGE = re.compile(
    r"\A(?:(?:about|around|approximately|approx\.?|roughly|circa|ca\.?|at least|at most|up to|no more than|nearly|"
    r"almost|just|only|maybe|max\.?|min\.?) |[~≈<>]=? ?)+"
)
_RANGE = re.compile(r"(?:between )?([0-9.]{1,6}) ?(?:[a-z%]{1,8} ?)?(?:-|–|—|to|or|and) ?([0-9.]{1,6} ?[a-z%]{1,10})")
_SIGNED = re.compile(r"(plus|minus) ([0-9]{1,4})")
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)?")
_ARTICLE = re.compile(r"\A(?:(?:an?|the|about|around|approximately|roughly|just|only|quite|fairly|pretty) |[~≈<>]=? ?)")
_DECIMAL = re.compile(r"[01]?[.,][0-9]{1,3}")


def read_number(name: str, argument: Schema, text: str) -> float | None:
    """Return a number with its unit as the argument counts it: 90 for "1.5 hours" of minutes, 0.4 for "40%"."""
    text = text.strip().lower()
    if len(text) > MAX_LENGTH:
        return None
    if is_share(argument):
        return _read_share(text)
    if "hour" in name and (hour := _read_hour(text)) is not None:
        return hour
    if (position := _read_position(name, text)) is not None:
        return position
    if english.to_snake_case(text) in english.ALL_WORDS and name in ("limit", "max_results"):
        return argument.get("maximum")
    unit = next((size for ending, size in _UNIT_OF_NAME if name.endswith(ending)), None)
    if unit is not None and (minutes := _read_longest_minutes(_HEDGE.sub("", text))) is not None:
        return int(minutes / unit) if (minutes / unit).is_integer() else None
    if name.endswith("days") and (offset := dates.read_offset(text)):
        return offset.days if offset == relativedelta(days=offset.days) else None
    if signed := _SIGNED.fullmatch(text):
        return int(signed[2]) * (-1 if signed[1] == "minus" else 1)
    return _read_amount(text, is_whole="integer" in str(argument.get("type")))


def is_share(argument: Schema) -> bool:
    """Return whether an argument is a share of one, such as a probability."""
    return 1 in (argument.get("maximum"), argument.get("exclusiveMaximum"))


def read_minutes(text: str) -> float | None:
    """Return the minutes of a duration such as 1h30, "2 days" or PT45M."""
    if text.startswith("p") and (duration := parse_duration(text.upper())):  # ISO 8601
        return duration.total_seconds() / 60
    parts = list(_DURATION_PART.finditer(text))
    if not parts or not parts[0][2] or "".join(part[0] for part in parts) != text:
        return None
    # In "1h30", the last number has the next smaller unit.
    return sum(float(part[1]) * (_MINUTES[part[2][0]] if part[2] else 1) for part in parts)


def _read_longest_minutes(text: str) -> float | None:
    """Return the minutes of a duration; of "2-3 hours" the longer one, which is enough for both."""
    text = _replace_words(text)
    minutes = read_minutes(text)
    if minutes is None and (span := _RANGE.fullmatch(text)):
        return read_minutes(span[2])
    return minutes


def _read_share(text: str) -> float | None:
    """Return the share of a percentage, the middle of "20-30%", the share of "1 in 4", or of a likelihood in words."""
    text = _ARTICLE.sub("", text)
    word = english.to_snake_case(text.removesuffix(" probability").removesuffix(" chance"))
    likelihood = english.LIKELIHOODS.get(word)
    if likelihood is not None:
        return likelihood / PERCENT
    if _DECIMAL.fullmatch(text):
        return min(float(text.replace(",", ".")), 1.0)
    text = _replace_words(text)
    if (span := _RANGE.fullmatch(text)) and (percent := _PERCENT.fullmatch(span[2])):
        return round((float(span[1]) + float(percent[1])) / 2 / PERCENT, 4)
    if percent := _PERCENT.fullmatch(text):
        return float(percent[1]) / PERCENT
    if (ratio := _RATIO.fullmatch(text)) and 0 < int(ratio[2]) >= int(ratio[1]):
        return int(ratio[1]) / int(ratio[2])
    return None


def _read_hour(text: str) -> int | None:
    """Return the full hour of a time of day."""
    if hour := _FULL_HOUR.fullmatch(text):
        return int(hour[1])
    if hour := _HALF_DAY_HOUR.fullmatch(text):
        return int(hour[1]) % 12 + (12 if hour[2] == "p" else 0)
    return {"noon": 12, "midday": 12, "midnight": 0}.get(text)


def _read_position(name: str, text: str) -> int | None:
    if name.rpartition("_")[2] not in english.POSITION_NAMES:
        return None
    word = _ARTICLE.sub("", text)
    return 0 if word in english.FIRST_WORDS else english.ORDINALS.index(word) if word in english.ORDINALS else None


def _read_amount(text: str, *, is_whole: bool) -> float | None:
    """Return a number in words or figures, without its currency: "a dozen", "24,50 €", 2k."""
    text = " ".join(_CURRENCY.sub(" ", text).split())
    if thousands := _THOUSANDS.fullmatch(text):
        number = float(thousands[1]) * 1_000
    else:
        article_free = _ARTICLE.sub("", text)
        word = english.to_snake_case(article_free.removesuffix(" of them"))
        in_words = english.NUMBERS.get(word, english.NUMBERS.get(word.removesuffix("s")))
        if in_words is not None:
            return in_words
        if not _AMOUNT.fullmatch(article_free):
            return None
        number = float(article_free.replace(",", "."))
    return int(number) if number.is_integer() else None if is_whole else number


def _replace_words(text: str) -> str:
    """Return a text with the numbers in it as digits."""
    for pattern, same in _SAME_DURATIONS:
        text = pattern.sub(same, text)
    return _WORD.sub(lambda found: str(english.NUMBERS.get(english.to_snake_case(found[0]), found[0])), text)
