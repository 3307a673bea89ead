"""Rows of switches."""

from typing import Any

from registry.models import Switch
from tests.support.rows.copy_rows import AT


def create_switch(name: str, kind: str = Switch.Kind.GROUP, **fields: Any) -> Switch:
    """Create a switch that is off, as if another process had done so."""
    values = {"reason": "Broken", "changed_by": "tests", "changed_at": AT, "is_off": True}
    return Switch.objects.create(name=name, kind=kind, **values | fields)
