"""Import a list of functions into the draft: build ops, merge them with admins' edits, and record what happened."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from registry import checks
from registry.drafts import merge
from registry.imports import entries, op_paths, schema_repair
from registry.imports.openai import FunctionDefinition, FunctionList, RefusedFunction
from registry.models import ROOT, Group, Op, OpAlias, get_parent_path, path_validator
from registry.text import cleanup

MAX_GROUP = 60


class InvalidImportGroup(Exception):
    """Functions cannot be imported into this group. The message says what to send."""


@dataclass
class ImportResult:
    """The result of an import. `upstream_names` is {path: upstream name} of every imported op, with paths at import."""

    merged: merge.MergeReport = field(default_factory=merge.MergeReport)
    upstream_names: dict[str, str] = field(default_factory=dict)
    retired: list[str] = field(default_factory=list)
    refusals: list[RefusedFunction] = field(default_factory=list)
    remarks: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # sentence -> names of functions
    content: dict[str, Any] = field(default_factory=dict)  # groups and ops of the list, in snapshot form


@dataclass
class _DraftState:
    """The draft before an import: this source's rows by upstream name, and the names that are taken."""

    rows: dict[str, tuple[Op, dict[str, Any]]]  # (row, entry of the last import)
    tree: op_paths.PathTree

    @classmethod
    def load(cls, group: str) -> "_DraftState":
        taken = {name for pair in Op.objects.values_list("op", "tool_name") for name in pair}
        taken |= set(OpAlias.objects.values_list("name", flat=True))
        groups = {ROOT, *Group.objects.values_list("path", flat=True)}
        rows = {
            _get_upstream_name(row.shipped): (row, row.shipped)
            for row in merge.iterate_ops_of_source(group)
            if row.shipped
        }
        return cls(rows, op_paths.PathTree(taken, groups))


@transaction.atomic
def import_functions(document: FunctionList, *, group: str) -> ImportResult:
    """Merge a list of functions into the draft, inside a group. Ops that are no longer in the list are retired.

    A function that would break serving is refused; if it was imported before, its op stays unchanged.
    Raises InvalidImportGroup.
    """
    _check_group(group)
    result = ImportResult(refusals=list(document.refusals))
    draft = _DraftState.load(group)
    op_entries = _build_entries(document, group, draft, result)
    groups = _build_group_entries(op_entries)
    result.content = {"format": 1, "groups": groups, "ops": op_entries}
    retired_entries = _retire_missing(document, draft, result)
    merge.merge_groups(groups, source=group, report=result.merged)
    merge.merge_ops(op_entries + retired_entries, source=group, report=result.merged)
    return result


def _check_group(group: str) -> None:
    if len(group) > MAX_GROUP or not _is_valid_path(group) or group == ROOT:
        raise InvalidImportGroup(
            f"{cleanup.escape_for_terminal(group)} is no valid group. Use lower-case words with underscores, "
            f"such as crm or acme.crm, at most {MAX_GROUP} characters."
        )
    ancestors = [group]
    while get_parent_path(ancestors[-1]) != ROOT:
        ancestors.append(get_parent_path(ancestors[-1]))
    names = [*Op.objects.filter(op__in=ancestors).values_list("op", flat=True)]
    names += Op.objects.filter(tool_name__in=ancestors).values_list("tool_name", flat=True)
    names += OpAlias.objects.filter(name__in=ancestors).values_list("name", flat=True)
    if names:
        raise InvalidImportGroup(f"{names[0]} is already the name of an op. Choose another group.")


def _is_valid_path(text: str) -> bool:
    try:
        path_validator(text)
    except ValidationError:
        return False
    return True


def _build_entries(
    document: FunctionList, group: str, draft: _DraftState, result: ImportResult
) -> list[dict[str, Any]]:
    schemas = _repair_schemas(document.functions, result)
    functions = [function for function in document.functions if function.name in schemas]
    readings = op_paths.parse_tool_names(functions, group)
    known_paths = {name: row.op for name, (row, _) in draft.rows.items()}
    assigned = op_paths.assign_paths(readings, group, draft.tree, known_paths=known_paths)
    op_entries = []
    for function in functions:
        path = assigned[function.name]
        tool_name = _choose_tool_name(function, path, group, draft)
        entry = entries.build_op_entry(
            function, readings[function.name], schemas[function.name], path=path, tool_name=tool_name
        )
        if problems := checks.find_op_errors(entry):
            result.refusals.append(RefusedFunction(function.name, " ".join(problem.summary for problem in problems)))
            continue
        op_entries.append(entry)
        result.upstream_names[path] = function.name
        _add_remarks(function, tool_name, result)
    return op_entries


def _repair_schemas(functions: list[FunctionDefinition], result: ImportResult) -> dict[str, dict[str, Any]]:
    repaired = {}
    for function in functions:
        try:
            repaired[function.name], repairs = schema_repair.repair_parameters(function.parameters)
        except schema_repair.UnusableParameters as error:
            result.refusals.append(RefusedFunction(function.name, str(error)))
            continue
        for sentence in repairs:
            result.remarks[sentence].append(function.name)
    return repaired


def _choose_tool_name(function: FunctionDefinition, path: str, group: str, draft: _DraftState) -> str:
    if function.name in draft.rows:
        _, shipped = draft.rows[function.name]
        return str(shipped["tool_name"])
    path_tree = draft.tree
    name = entries.choose_tool_name(function.name, group, lambda name: name == path or path_tree.is_free(name))
    path_tree.taken.add(name)
    return name


def _add_remarks(function: FunctionDefinition, tool_name: str, result: ImportResult) -> None:
    remarks = cleanup.find_remarks([function.name, function.description, function.parameters])
    if tool_name != function.name:
        remarks.append("Its name is taken or invalid for a tool. The op has another name; search finds both.")
    if len(function.description.strip()) > cleanup.MAX_DESCRIPTION:
        remarks.append(f"Its description was cut to {cleanup.MAX_DESCRIPTION} characters.")
    for sentence in remarks:
        result.remarks[sentence].append(function.name)


def _build_group_entries(op_entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of all groups above these ops, each with a summary of its children."""
    children: dict[str, dict[str, str]] = defaultdict(dict)
    for entry in op_entries:
        path, summary = entry["op"], entry["summary"]
        while (parent := get_parent_path(path)) != ROOT:
            children[parent][path.rpartition(".")[2]] = summary
            path, summary = parent, ""
    return [
        {"path": path, "summary": entries.summarise_group(child_summaries)}
        for path, child_summaries in children.items()
    ]


def _retire_missing(document: FunctionList, draft: _DraftState, result: ImportResult) -> list[dict[str, Any]]:
    """Return retired entries of the ops that are no longer in the list. A refused function counts as listed."""
    listed_names = {function.name for function in document.functions} | {refusal.name for refusal in document.refusals}
    missing = [draft.rows[name] for name in sorted(draft.rows) if name not in listed_names]
    result.retired = [row.op for row, _ in missing if row.status == Op.Status.ACTIVE]
    return [{**shipped, "op": row.op, "status": Op.Status.RETIRED} for row, shipped in missing]


def _get_upstream_name(shipped: dict[str, Any]) -> str:
    return str(shipped.get("upstream_name") or shipped["tool_name"])
