"""The rules of creates and updates that their args alone tell, for an error that already has others to report."""

from typing import Any

from django.utils import timezone

from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.errors import ArgumentError
from workspace.services.entities import changes
from workspace.services.time import field_times

_KINDS_BY_TOOL = {
    f"{action}_onto_{kind.name}": (kind, action == "create")
    for kind in ENTITY_TYPE_BY_NAME.values()
    for action in ("create", "update")
}


def check_args(tool_name: str, args: dict[str, Any], subject: str) -> list[ArgumentError]:
    """Return the rules that some args of a call break, whatever is stored. Empty for a tool that has no such rules."""
    if tool_name not in _KINDS_BY_TOOL:
        return []
    kind, is_new = _KINDS_BY_TOOL[tool_name]
    fields = field_times.complete_times(args, kind=kind, subject=subject).fields
    errors = changes.assign_fields(kind.model(), kind=kind, sent=fields, at=timezone.now())
    # A row that exists may have the field that another one requires.
    return errors if is_new else [error for error in errors if not error.code.startswith("no_")]
