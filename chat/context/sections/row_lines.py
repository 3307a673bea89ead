"""Rows as lines of a prompt, with their days in the user's time zone."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from chat.context.reads import get_label
from chat.context.shortening.clipping import clip, mark_cut, to_one_line

UTC = ZoneInfo("UTC")
NOT_SET = "not set"
TITLE_CHARS, MAX_STATE = 100, 40
INDENTED_LINE = "\n  "


def find_zone(name: Any) -> ZoneInfo:
    """Return the time zone of this name, or UTC."""
    try:
        return ZoneInfo(name) if isinstance(name, str) else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def parse_moment(value: Any, zone: tzinfo) -> datetime | date | None:
    """Return the date or the local time in a row's field; None if it has none. Without offset, times are local."""
    if not isinstance(value, str):
        return None
    try:
        if len(value) == len("2026-03-01"):
            return date.fromisoformat(value)
        moment = datetime.fromisoformat(value)
        return moment.astimezone(zone) if moment.tzinfo else moment.replace(tzinfo=zone)
    except (ValueError, OverflowError):
        return None


def get_day(moment: datetime | date) -> date:
    """Return the day of a date or a local time."""
    return moment.date() if isinstance(moment, datetime) else moment


def format_day(value: Any, zone: tzinfo) -> str:
    """Return the local day in a row's field as 2026-03-01, or an empty string."""
    moment = parse_moment(value, zone)
    return get_day(moment).isoformat() if moment else ""


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything a location shows, so that it fits whatever its rows hold."""

    share: float = 1.0  # of the characters of texts and names
    rows: int = 50  # at most, of each list
    has_ids: bool = True

    def scale(self, chars: int) -> int:
        """Return the share of a number of characters."""
        return max(4, int(chars * self.share))


# Most rows have the first size. The last ones are for scripts with several tokens a character.
SIZES = (
    Size(),
    Size(0.6),
    Size(0.6, has_ids=False),
    Size(0.3, has_ids=False),
    Size(0.15, 10, has_ids=False),
    Size(0.05, 5, has_ids=False),
    Size(0.02, 3, has_ids=False),
)


def format_task(row: Mapping[str, Any], size: Size, zone: ZoneInfo) -> str:
    """Return `- [priority] title (state, date) id`; an overdue task says so."""
    state, day = clip(row.get("state_key"), MAX_STATE), format_day(row.get("due_at") or row.get("start_at"), zone)
    facts = ", ".join(filter(None, (state, day, "overdue" if row.get("is_overdue") else "")))
    return (
        f"- [{row.get('priority', '-')}] {format_name(row, size)}{f' ({facts})' if facts else ''}{format_id(row, size)}"
    )


def format_name(row: Mapping[str, Any], size: Size) -> str:
    """Return the name of a row, clipped."""
    return clip(get_label(row), size.scale(TITLE_CHARS)) or "(no name)"


def format_id(row: Mapping[str, Any], size: Size) -> str:
    """Return the id after a space, or nothing if ids are left out."""
    return f" {clip(row.get('id'), 36)}" if size.has_ids and row.get("id") else ""


def format_value(value: Any, chars: int = 40) -> str:
    """Return a short value of a row, or `not set`."""
    return NOT_SET if value in (None, "") else clip(value, chars)


def format_text(text: Any, chars: int, *, length: int | None = None) -> str:
    """Return a text with its lines, indented below a label: they are none of our headings.

    A marker says how much of it is shown; `length` is of the whole, if that is longer.
    """
    lines = [line for each in str(text or "").splitlines() if (line := to_one_line(each))]
    block = INDENTED_LINE.join(["", *lines]) if len(lines) > 1 else "".join(lines)
    whole = max(length or 0, len(block))
    return block if whole <= chars else mark_cut(block[:chars], whole)


def get_length(row: Mapping[str, Any], name: str) -> int | None:
    """Return the length of a row's text if the gateway truncated it."""
    truncated = row.get("truncated")
    entry = truncated.get(name) if isinstance(truncated, dict) else None
    return entry.get("length") if isinstance(entry, dict) else None
