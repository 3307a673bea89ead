"""Build an op's entry (see registry.snapshot.snapshot) from an imported function."""

import re
from collections.abc import Callable
from itertools import chain, count
from typing import Any

from registry.imports.op_paths import MAX_SEGMENT, ParsedToolName
from registry.imports.openai import FunctionDefinition
from registry.jsonschema.arguments import list_required_alternatives
from registry.models import Op
from registry.text import cleanup

MAX_TOOL_NAME = 128
MAX_LISTED = 4  # names in a group's summary, to keep it at about ten tokens

_NOT_IN_TOOL_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")
_VERB_ORDER = {name: place for place, name in enumerate(("list", "search", "get", "create", "update", "delete"))}


def build_op_entry(
    function: FunctionDefinition, reading: ParsedToolName, schema: dict[str, Any], *, path: str, tool_name: str
) -> dict[str, Any]:
    """Return the entry of an op. If its tool name differs from the upstream's, the upstream's becomes a keyword."""
    summary = cleanup.write_summary(function.description, function.name)
    description = cleanup.clean_description(function.description)
    fields = {
        "op": path,
        "tool_name": tool_name,
        "upstream_name": function.name if function.name != tool_name else "",
        "kind": Op.Kind.WRITE if reading.is_write else Op.Kind.READ,
        "entity": reading.entity[:MAX_SEGMENT],
        "action": reading.action[:MAX_SEGMENT],
        "summary": summary,
        "description": "" if description.rstrip(".") == summary else description,
        "notes": _write_notes(schema),
        "keywords": [function.name] if function.name != tool_name else [],
    }
    return {name: value for name, value in fields.items() if value} | {
        "needs_subject": True,
        "parameters_schema": schema,
    }


def _write_notes(schema: dict[str, Any]) -> str:
    """Return a sentence with the alternative sets of required arguments, which a signature cannot show."""
    alternatives = [" with ".join(names) for names in list_required_alternatives(schema)]
    return f"Send {' or '.join(alternatives)}."[: cleanup.MAX_DESCRIPTION] if alternatives else ""


def choose_tool_name(name: str, group: str, is_free: Callable[[str], bool]) -> str:
    """Return a free tool name: the upstream's name, else with the group as prefix, else also with a number."""
    clean_name = _NOT_IN_TOOL_NAMES.sub("_", name).strip("_") or "tool"
    prefixed = f"{group.replace('.', '_')}_{clean_name}"
    numbered = (f"{prefixed[: MAX_TOOL_NAME - 6]}_{number}" for number in count(2))
    return next(
        candidate for name in chain((clean_name, prefixed), numbered) if is_free(candidate := name[:MAX_TOOL_NAME])
    )


def summarise_group(children: dict[str, str]) -> str:
    """Return a group's summary: the names of its children, so that a model can ask for an op without listing the group.

    `children` is {name: summary of the op, "" for a group}. A single op is listed with its summary.
    """
    names = sorted(children, key=lambda name: (_VERB_ORDER.get(name, len(_VERB_ORDER)), name))
    if len(names) == 1 and children[names[0]]:
        return f"{names[0]}: {children[names[0]]}"[:200]
    return ", ".join([*names[:MAX_LISTED], *(["…"] if len(names) > MAX_LISTED else [])])[:200]
