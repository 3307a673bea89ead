"""Import a list of functions into the draft: build ops, merge them with admins' edits, and record what happened."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from registry import checks, merge
from registry.imports import entries, parameters, paths, prose
from registry.imports.documents import Document, Function, Refusal
from registry.models import ROOT, Group, Op, OpAlias, parent_of, path_validator

MAX_GROUP = 60


class BadGroup(Exception):
    """Functions cannot be imported into this group. The message says what to send."""


@dataclass
class Imported:
    """The result of an import. `upstream_names` is {path: upstream name} of every imported op, with paths at import."""

    merged: merge.Report = field(default_factory=merge.Report)
    names: dict[str, str] = field(default_factory=dict)
    retired: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    remarks: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # sentence -> names of functions
    content: dict[str, Any] = field(default_factory=dict)  # groups and ops of the list, in snapshot form


@dataclass
class _Draft:
    """The draft before an import: this source's rows by upstream name, and the names that are taken."""

    rows: dict[str, tuple[Op, dict[str, Any]]]  # (row, entry of the last import)
    tree: paths.Tree

    @classmethod
    def read(cls, group: str) -> "_Draft":
        taken = {name for pair in Op.objects.values_list("op", "tool_name") for name in pair}
        taken |= set(OpAlias.objects.values_list("name", flat=True))
        groups = {ROOT, *Group.objects.values_list("path", flat=True)}
        rows = {_upstream_name(row.shipped): (row, row.shipped) for row in merge.of_source(group) if row.shipped}
        return cls(rows, paths.Tree(taken, groups))


@transaction.atomic
def run(document: Document, *, group: str) -> Imported:
    """Merge a list of functions into the draft, inside a group. Ops that are no longer in the list are retired.

    A function that would break serving is refused; if it was imported before, its op stays unchanged.
    Raises InvalidImportGroup.
    """
    _check_group(group)
    done = Imported(refusals=list(document.refusals))
    draft = _Draft.read(group)
    found = _entries(document, group, draft, done)
    groups = _groups(found)
    done.content = {"format": 1, "groups": groups, "ops": found}
    vanished = _vanished(document, draft, done)
    merge.groups(groups, source=group, report=done.merged)
    merge.ops(found + vanished, source=group, report=done.merged)
    return done


def _check_group(group: str) -> None:
    if len(group) > MAX_GROUP or not _is_path(group) or group == ROOT:
        raise BadGroup(
            f"{prose.shown(group)} is no valid group. Use lower-case words with underscores, such as crm or acme.crm, "
            f"at most {MAX_GROUP} characters."
        )
    above = [group]
    while parent_of(above[-1]) != ROOT:
        above.append(parent_of(above[-1]))
    names = [*Op.objects.filter(op__in=above).values_list("op", flat=True)]
    names += Op.objects.filter(tool_name__in=above).values_list("tool_name", flat=True)
    names += OpAlias.objects.filter(name__in=above).values_list("name", flat=True)
    if names:
        raise BadGroup(f"{names[0]} is already the name of an op. Choose another group.")


def _is_path(text: str) -> bool:
    try:
        path_validator(text)
    except ValidationError:
        return False
    return True


def _entries(document: Document, group: str, draft: _Draft, done: Imported) -> list[dict[str, Any]]:
    schemas = _schemas(document.functions, done)
    functions = [function for function in document.functions if function.name in schemas]
    readings = paths.readings(functions, group)
    kept = {name: row.op for name, (row, _) in draft.rows.items()}
    assigned = paths.assign(readings, group, draft.tree, kept=kept)
    found = []
    for function in functions:
        path = assigned[function.name]
        tool_name = _tool_name(function, path, group, draft)
        entry = entries.entry(function, readings[function.name], schemas[function.name], path=path, tool_name=tool_name)
        if problems := checks.op_problems(entry):
            done.refusals.append(Refusal(function.name, " ".join(problem.told for problem in problems)))
            continue
        found.append(entry)
        done.names[path] = function.name
        _remark(function, tool_name, done)
    return found


def _schemas(functions: list[Function], done: Imported) -> dict[str, dict[str, Any]]:
    found = {}
    for function in functions:
        try:
            found[function.name], mended = parameters.settle(function.parameters)
        except parameters.Unservable as error:
            done.refusals.append(Refusal(function.name, str(error)))
            continue
        for sentence in mended:
            done.remarks[sentence].append(function.name)
    return found


def _tool_name(function: Function, path: str, group: str, draft: _Draft) -> str:
    if function.name in draft.rows:
        _, shipped = draft.rows[function.name]
        return str(shipped["tool_name"])
    tree = draft.tree
    name = entries.tool_name(function.name, group, lambda wanted: wanted == path or tree.is_free(wanted))
    tree.taken.add(name)
    return name


def _remark(function: Function, tool_name: str, done: Imported) -> None:
    said = prose.remarks([function.name, function.description, function.parameters])
    if tool_name != function.name:
        said.append("Its name is taken or invalid for a tool. The op has another name; search finds both.")
    if len(function.description.strip()) > prose.MAX_DESCRIPTION:
        said.append(f"Its description was cut to {prose.MAX_DESCRIPTION} characters.")
    for sentence in said:
        done.remarks[sentence].append(function.name)


def _groups(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of all groups above these ops, each with a summary of its children."""
    children: dict[str, dict[str, str]] = defaultdict(dict)
    for entry in found:
        path, summary = entry["op"], entry["summary"]
        while (parent := parent_of(path)) != ROOT:
            children[parent][path.rpartition(".")[2]] = summary
            path, summary = parent, ""
    return [{"path": path, "summary": entries.group_summary(below)} for path, below in children.items()]


def _vanished(document: Document, draft: _Draft, done: Imported) -> list[dict[str, Any]]:
    """Return retired entries of the ops that are no longer in the list. A refused function counts as listed."""
    listed = {function.name for function in document.functions} | {refusal.name for refusal in document.refusals}
    gone = [draft.rows[name] for name in sorted(draft.rows) if name not in listed]
    done.retired = [row.op for row, _ in gone if row.status == Op.Status.ACTIVE]
    return [{**shipped, "op": row.op, "status": Op.Status.RETIRED} for row, shipped in gone]


def _upstream_name(shipped: dict[str, Any]) -> str:
    return str(shipped.get("upstream_name") or shipped["tool_name"])
