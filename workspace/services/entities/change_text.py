"""Changes of a row as text: what each field was, and what it is now."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any
from zoneinfo import ZoneInfo

from core.text import json_text
from workspace.services.time import times

MAX_LENGTH = 40  # characters of a value that is shown; of a longer text the message tells the length
TIME_ENDINGS = ("_at", "_until")  # of the names of fields with times
MAX_KEYS = 5  # of an object; the message names those that changed


def describe_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], names: Iterable[str], *, zone: ZoneInfo | None = None
) -> str:
    """Return each of these fields with its old and its new value: `state_key todo → done, priority 3 → 1`.

    The values are those of answers. With a zone, times are shown in it.
    """
    values = [(name, *(_convert_to_zone(name, each.get(name), zone) for each in (before, after))) for name in names]
    return ", ".join(f"{name} {_describe_change(old, new)}" for name, old, new in values)


def _convert_to_zone(name: str, value: Any, zone: ZoneInfo | None) -> Any:
    if zone and isinstance(value, str) and name.endswith(TIME_ENDINGS):
        with suppress(ValueError):
            return times.format_time(times.parse_time(value), zone=zone)
    return value


def _describe_change(old: Any, new: Any) -> str:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted(key for key in old.keys() | new.keys() if not _is_same(old.get(key), new.get(key)))
        return f"({', '.join(keys[:MAX_KEYS])}{', …' if len(keys) > MAX_KEYS else ''})"
    if _is_long(old) or _is_long(new):
        fate = f", old text {'kept' if old in new else 'replaced'}" if old and new else ""
        return f"({_get_length(old):,} → {_get_length(new):,} characters{fate})"
    return f"{_format_value(old)} → {_format_value(new)}"


def _is_same(old: Any, new: Any) -> bool:
    return json_text.canonicalize(old) == json_text.canonicalize(new)  # 1 is not true


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and (len(value) > MAX_LENGTH or "\n" in value)


def _get_length(value: Any) -> int:
    return len(value) if isinstance(value, str) else 0


def _format_value(value: Any) -> str:
    if value in (None, "", [], {}):
        return "none"
    if isinstance(value, list):
        text = ", ".join(map(str, value))
        return f"[{text}]" if len(text) <= MAX_LENGTH else f"[{len(value)} items]"
    if isinstance(value, str):
        return f"“{value}”" if " " in value else value
    return json.dumps(value)
