"""The rules that the args of a list, create or update break by themselves, told along with its other errors."""

from typing import Any

from django.utils import timezone

from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.errors import ArgumentError
from workspace.services.entities import changes, chosen_fields
from workspace.services.time import field_times

_KIND_BY_WRITE = {
    f"{action}_onto_{kind.name}": kind for kind in ENTITY_TYPE_BY_NAME.values() for action in ("create", "update")
}
_KIND_BY_LIST = {
    f"{action}_onto_{kind.plural}": kind for kind in ENTITY_TYPE_BY_NAME.values() for action in ("list", "search")
}


def check_args(tool_name: str, args: dict[str, Any], subject: str) -> list[ArgumentError]:
    """Return the rules that some args of a call break, whatever is stored. Empty for a tool that has no such rules."""
    kind = _KIND_BY_WRITE.get(tool_name) or _KIND_BY_LIST.get(tool_name)
    if kind is None:
        return []
    errors = chosen_fields.check_fields(args, kind.answer_fields)
    return errors + _check_values(tool_name, args, subject) if tool_name in _KIND_BY_WRITE else errors


def _check_values(tool_name: str, args: dict[str, Any], subject: str) -> list[ArgumentError]:
    kind = _KIND_BY_WRITE[tool_name]
    fields = field_times.complete_times(args, kind=kind, subject=subject).fields
    errors = changes.assign_fields(kind.model(), kind=kind, sent=fields, at=timezone.now())
    # A row that exists may have the field that another one requires.
    is_new = tool_name.startswith("create")
    return errors if is_new else [error for error in errors if not error.code.startswith("no_")]
