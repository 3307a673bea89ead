"""One function of a list as an op's entry, in the form of registry.snapshot."""

import re
from collections.abc import Callable
from itertools import chain, count
from typing import Any

from registry.arguments import choices
from registry.imports import prose
from registry.imports.documents import Function
from registry.imports.paths import MAX_SEGMENT, Reading
from registry.models import Op

MAX_TOOL_NAME = 128
SHOWN = 4  # names in a group's line, which is to cost about ten tokens

_FIRST = {name: place for place, name in enumerate(("list", "search", "get", "create", "update", "delete"))}


def entry(function: Function, reading: Reading, schema: dict[str, Any], *, path: str, tool_name: str) -> dict[str, Any]:
    """Return the entry of an op; where its tool name is not the upstream's, that one leads to it all the same."""
    summary = prose.summary(function.description, function.name)
    description = prose.description(function.description)
    said = {
        "op": path,
        "tool_name": tool_name,
        "upstream_name": function.name if function.name != tool_name else "",
        "kind": Op.Kind.WRITE if reading.is_write else Op.Kind.READ,
        "entity": reading.entity[:MAX_SEGMENT],
        "action": reading.action[:MAX_SEGMENT],
        "summary": summary,
        "description": "" if description.rstrip(".") == summary else description,
        "notes": _notes(schema),
        "keywords": [function.name] if function.name != tool_name else [],
    }
    return {name: value for name, value in said.items() if value} | {"needs_subject": True, "parameters_schema": schema}


def _notes(schema: dict[str, Any]) -> str:
    """Say in words what a signature cannot: which arguments a call must have one of."""
    wanted = [" with ".join(names) for names in choices(schema)]
    return f"Send {' or '.join(wanted)}."[: prose.MAX_DESCRIPTION] if wanted else ""


def tool_name(name: str, group: str, is_free: Callable[[str], bool]) -> str:
    """Return the tool name of an upstream's name: that name, else one with the group before it, else with a number."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_") or "tool"
    longer = f"{group.replace('.', '_')}_{plain}"
    numbered = (f"{longer[: MAX_TOOL_NAME - 6]}_{number}" for number in count(2))
    return next(wanted for name in chain((plain, longer), numbered) if is_free(wanted := name[:MAX_TOOL_NAME]))


def group_summary(children: dict[str, str]) -> str:
    """Return what a group's line says of {child: its op's summary, empty for a group}: their names, so that a model
    can ask for an op without listing the group; of one op alone also what it does."""
    names = sorted(children, key=lambda name: (_FIRST.get(name, len(_FIRST)), name))
    if len(names) == 1 and children[names[0]]:
        return f"{names[0]}: {children[names[0]]}"[:200]
    return ", ".join([*names[:SHOWN], *(["…"] if len(names) > SHOWN else [])])[:200]
