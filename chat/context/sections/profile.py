"""The profile layer: who the user is and how they work."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from chat.context import budgets, reads
from chat.context.layers import Layer
from chat.context.reads import Results
from chat.context.sections.tool_names import ToolNames
from chat.context.shortening import token_fit
from chat.context.shortening.clipping import clip
from chat.context.shortening.json_text import dump

NAME = "profile"
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MAX_NAME_CHARS, MAX_VALUE_CHARS = 60, 120
MAX_HOURS_CHARS = 400


def build_profile(results: Results, tools: ToolNames, *, has_hours: bool) -> Layer:
    """Return the profile layer. Whole lines are left out if it does not fit, the last preferences first."""
    profile = results.get_row(reads.PROFILE)
    if profile is None:
        return Layer.of_text(NAME, "The user's profile could not be loaded.", budget=budgets.PROFILE)
    lines = [f"## User: {clip(profile.get('name'), MAX_NAME_CHARS) or 'name not set'}"]
    if has_hours:
        lines.append(f"- Working hours: {describe_hours(profile.get('working_hours'))}")
    lines += _list_preferences(profile.get("preferences"))
    fitted = token_fit.fit_lines(
        lines,
        budget=budgets.PROFILE,
        note=lambda missing: f"- {missing} more preferences; {tools.describe('util.profile.get')} has all.",
    )
    return Layer.of_text(NAME, fitted.text, budget=budgets.PROFILE, is_cut=fitted.is_cut)


def describe_hours(week: Any) -> str:
    """Return working hours by weekday in short: mon-thu 09:00-12:30, 13:30-17:30; fri 09:00-13:00; sat-sun off."""
    if not isinstance(week, dict) or not week:
        return "not set"
    days = [(day[:3], ", ".join(map(str, week.get(day) or ())) or "off") for day in WEEKDAYS]
    runs = [(hours, [day for day, _ in run]) for hours, run in groupby(days, key=lambda each: each[1])]
    return clip(
        "; ".join(f"{'-'.join(dict.fromkeys((run[0], run[-1])))} {hours}" for hours, run in runs), MAX_HOURS_CHARS
    )


def _list_preferences(preferences: Any) -> Iterator[str]:
    for name, value in (preferences if isinstance(preferences, Mapping) else {}).items():
        text = value if isinstance(value, str) else dump(value)
        if len(text) <= MAX_VALUE_CHARS:
            yield f"- {clip(name, MAX_NAME_CHARS)}: {clip(text, MAX_VALUE_CHARS)}"
        elif isinstance(value, str):
            yield f"- {clip(name, MAX_NAME_CHARS)} (beginning): {clip(text, MAX_VALUE_CHARS)}"
        else:
            yield f"- {clip(name, MAX_NAME_CHARS)}: {type(value).__name__} of {len(value)} entries, not shown"
