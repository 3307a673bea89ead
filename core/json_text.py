"""JSON of our own rows and answers as text: compact, fast, and exact for integers of any length."""

import json
import re
from typing import Any

import orjson

_NO_JSON = ("Type is not JSON serializable", "Dict key must be")  # what orjson says of values of other types
_LONG_NUMBER = re.compile(r"\d{19}")
_LONG_NUMBER_BYTES = re.compile(rb"\d{19}")


def dump(value: Any, *, indent: bool = False) -> bytes:
    """Return a JSON value as compact UTF-8, or indented by two spaces.

    Unlike orjson alone it writes integers of more than 64 bits and more than 254 levels. Half of a surrogate pair is
    written as its escape. Raises TypeError for a value that is no JSON.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None)
    except orjson.JSONEncodeError as error:
        if str(error).startswith(_NO_JSON):
            raise
        separators = None if indent else (",", ":")
        text = json.dumps(value, ensure_ascii=False, separators=separators, indent=2 if indent else None)
        return text.encode("utf-8", "backslashreplace")


def load(text: str | bytes) -> Any:
    """Return the value of a JSON text that we wrote. orjson alone reads integers of more than 64 bits as floats."""
    has_long_number = _LONG_NUMBER.search(text) if isinstance(text, str) else _LONG_NUMBER_BYTES.search(text)
    return json.loads(text) if has_long_number else orjson.loads(text)
