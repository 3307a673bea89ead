"""Template filters of the console: {% load admin_format %}."""

import json
import re
from typing import Any

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from core.admin.form_fields import PrettyJSONEncoder
from core.text import display

MAX_PASSAGE_LENGTH = 400  # characters of an unchanged passage in a diff; longer ones are shortened
PASSAGE_END_LENGTH = 120  # characters kept at either end

_BREAK_AFTER = re.compile(r"([._])(?=[A-Za-z])")

register = template.Library()
for _filter in (
    display.or_dash,
    display.format_time,
    display.format_seconds,
    display.format_time_with_utc,
    display.describe_actor,
    display.describe_browser,
):
    register.filter(_filter)


@register.filter
def indented(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, cls=PrettyJSONEncoder)


@register.filter
def readable(value: Any) -> str:
    """Return a stored JSON value for people who cannot edit it: a list of texts in one line, "" if it is empty."""
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return indented(value) if value not in (None, {}) else ""


@register.filter
def abridged(text: str) -> str:
    """Return a text, with its middle left out if it is long."""
    return text if len(text) <= MAX_PASSAGE_LENGTH else f"{text[:PASSAGE_END_LENGTH]} … {text[-PASSAGE_END_LENGTH:]}"


@register.filter
def signed(number: int) -> str:
    """Return a difference with its sign: "+12" or "−1,200" (with a true minus)."""
    return f"{number:+,}".replace("-", "−")


@register.filter
def signed_points(points: float) -> str:
    """Return a difference of percentages with its sign: "+1.5" or "−0.7" (with a true minus), "±0" for none."""
    return f"{points:+.1f}".replace("-", "−") if round(points, 1) else "±0"


@register.filter
def breakable(text: str) -> str:
    """Return a text that may be broken after a dot or an underscore: else a long name is broken inside a word."""
    if isinstance(text, SafeString):
        return text
    return mark_safe(_BREAK_AFTER.sub(r"\1<wbr>", escape(text)))  # noqa: S308 - escaped


@register.filter
def compact(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


@register.filter
def pairs(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the items of a dict. In a template, `.items` would be the member "items" if it exists."""
    return list(value.items())


@register.filter
def percent(rate: float) -> str:
    """Return a rate of 0 to 1 as a percentage, with one decimal below 10%."""
    return f"{rate:.0%}" if rate == 0 or rate >= 0.1 else f"{rate:.1%}"
