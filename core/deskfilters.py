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
