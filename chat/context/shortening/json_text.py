"""JSON as compact as it is sent to models."""

import json
from typing import Any


def dump(value: Any) -> str:
    """Return compact JSON. Characters outside ASCII stay, unless they are halves of pairs, which UTF-8 cannot write."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if _is_utf8(text) else json.dumps(value, separators=(",", ":"))


def parse(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError, also for NaN and Infinity, which are not JSON."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("The JSON is nested too deeply.") from error


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON.")
