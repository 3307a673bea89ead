"""What templates of the admin need: {% load desk %}."""

import json
from typing import Any

from django import template

from core.forms import PrettyJSON

LONGEST = 400  # characters of a passage that is the same on both sides
SHOWN = 120  # of such a one, at either end

register = template.Library()


@register.filter
def indented(value: Any) -> str:
    """Return JSON as a person reads it."""
    return json.dumps(value, cls=PrettyJSON)


@register.filter
def abridged(text: str) -> str:
    """Return a text without its middle where it is long."""
    return text if len(text) <= LONGEST else f"{text[:SHOWN]} … {text[-SHOWN:]}"


@register.filter
def signed(number: int) -> str:
    """Return a number with its sign, a true minus: it is a difference."""
    return f"{number:+,}".replace("-", "−")


@register.filter
def compact(value: Any) -> str:
    """Return JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


@register.filter
def pairs(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the members of an object: `.items` would be the member of that name, where there is one."""
    return list(value.items())


@register.filter
def percent(rate: float) -> str:
    """Return a rate of 0 to 1 in percent, small ones with a decimal."""
    return f"{rate:.0%}" if rate == 0 or rate >= 0.1 else f"{rate:.1%}"
