"""Build an op's entry (see registry.snapshot) from an imported function."""

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
SHOWN = 4  # names in a group's summary, to keep it at about ten tokens

_FIRST = {name: place for place, name in enumerate(("list", "search", "get", "create", "update", "delete"))}


def entry(function: Function, reading: Reading, schema: dict[str, Any], *, path: str, tool_name: str) -> dict[str, Any]:
    """Return the entry of an op. If its tool name differs from the upstream's, the upstream's becomes a keyword."""
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
    """Return a sentence with the alternative sets of required arguments, which a signature cannot show."""
    wanted = [" with ".join(names) for names in choices(schema)]
    return f"Send {' or '.join(wanted)}."[: prose.MAX_DESCRIPTION] if wanted else ""


def tool_name(name: str, group: str, is_free: Callable[[str], bool]) -> str:
    """Return a free tool name: the upstream's name, else with the group as prefix, else also with a number."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_") or "tool"
    longer = f"{group.replace('.', '_')}_{plain}"
    numbered = (f"{longer[: MAX_TOOL_NAME - 6]}_{number}" for number in count(2))
    return next(wanted for name in chain((plain, longer), numbered) if is_free(wanted := name[:MAX_TOOL_NAME]))


def group_summary(children: dict[str, str]) -> str:
    """Return a group's summary: the names of its children, so that a model can ask for an op without listing the group.

    `children` is {name: summary of the op, "" for a group}. A single op is listed with its summary.
    """
    names = sorted(children, key=lambda name: (_FIRST.get(name, len(_FIRST)), name))
    if len(names) == 1 and children[names[0]]:
        return f"{names[0]}: {children[names[0]]}"[:200]
    return ", ".join([*names[:SHOWN], *(["…"] if len(names) > SHOWN else [])])[:200]
