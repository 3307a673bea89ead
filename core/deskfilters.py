"""What templates of the admin need: {% load desk %}."""

import json
from typing import Any

from django import template

from core.forms import PrettyJSON

register = template.Library()


@register.filter
def indented(value: Any) -> str:
    """Return JSON as a person reads it."""
    return json.dumps(value, cls=PrettyJSON)
