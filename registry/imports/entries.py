"""Build the entries (see registry.snapshot.snapshot) of imported ops and of their groups."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from registry.imports.import_source import SourceOp
from registry.models import ROOT, get_parent_path
from registry.text.cleanup import MAX_TOOL_NAME, clean_tool_name
from registry.text.numbered_names import NumberedNames

MAX_LISTED = 4  # names in a group's summary, to keep it at about ten tokens

_VERB_ORDER = {name: place for place, name in enumerate(("list", "search", "get", "create", "update", "delete"))}


def build_op_entry(op: SourceOp, *, path: str, tool_name: str, connection: str = "") -> dict[str, Any]:
    """Return the entry of an op. If its tool name differs from the upstream's, the upstream's is kept, too.

    It is a keyword only if it was not free for a tool: what another op is called must not find this one first.
    """
    entry = {"op": path, "tool_name": tool_name} | op.fields
    if connection:
        entry["connection"] = connection
    if op.name != tool_name:
        entry["upstream_name"] = op.name
    if op.tool_name != tool_name and clean_tool_name(op.tool_name) == tool_name:  # no prefix: nobody else has that name
        entry["keywords"] = [*entry.get("keywords", []), op.tool_name]
    return entry


def choose_tool_name(
    name: str,
    prefix: str,
    is_free: Callable[[str], bool],
    means_other: Callable[[str], bool],
    numbered: NumberedNames,
) -> str:
    """Return a free tool name: the upstream's name, else with a prefix, else also with a number.

    `means_other` says whether a name is read as that of another op: it gets the prefix. `numbered` is one for
    the whole import.
    """
    clean_name = clean_tool_name(name)
    prefixed = f"{clean_tool_name(prefix.replace('.', '_'))}_{clean_name}"
    if is_free(clean_name) and not means_other(clean_name):
        return clean_name
    whole = prefixed[:MAX_TOOL_NAME]
    return whole if is_free(whole) else numbered.find_free(prefixed[: MAX_TOOL_NAME - 6], is_free)


def build_group_entries(op_entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of all groups above these ops, each with a summary of its children."""
    children: dict[str, dict[str, str]] = defaultdict(dict)
    for entry in op_entries:
        path, summary = entry["op"], entry["summary"]
        while (parent := get_parent_path(path)) != ROOT:
            children[parent][path.rpartition(".")[2]] = summary
            path, summary = parent, ""
    return [{"path": path, "summary": summarise_group(summaries)} for path, summaries in children.items()]


def summarise_group(children: dict[str, str]) -> str:
    """Return a group's summary: the names of its children, so that a model can ask for an op without listing the group.

    `children` is {name: summary of the op, "" for a group}. A single op is listed with its summary.
    """
    names = sorted(children, key=lambda name: (_VERB_ORDER.get(name, len(_VERB_ORDER)), name))
    if len(names) == 1 and children[names[0]]:
        return f"{names[0]}: {children[names[0]]}"[:200]
    return ", ".join([*names[:MAX_LISTED], *(["…"] if len(names) > MAX_LISTED else [])])[:200]
