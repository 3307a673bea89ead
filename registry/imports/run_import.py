"""Import ops into the draft: build entries, give them paths, and keep the edits of admins."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from django.core.exceptions import ValidationError
from django.db import transaction

from registry import checks
from registry.catalog import builder
from registry.catalog.model import Catalog
from registry.checks import context, surface_copy
from registry.checks.context import SummaryIndex
from registry.drafts import merge
from registry.imports import op_paths, self_check
from registry.imports.import_source import ImportSource, Refusal, SourceOp
from registry.models import ROOT, Op, OpAlias, get_parent_path, path_validator
from registry.search import tokenizer
from registry.snapshot import snapshot
from registry.snapshot.copy_kinds import AGENTS_PATH, Kind
from registry.snapshot.entries import EMPTY_SNAPSHOT, OpEntry, Snapshot
from registry.text import cleanup
from registry.text.cleanup import MAX_TOOL_NAME, clean_tool_name
from registry.text.tool_name_words import NumberedNames

MAX_GROUP = 60
PROGRESS_STEP = 100  # ops after which an import says how far it is
RENAMED = (
    f"Its name has characters that a tool's cannot have, or more than {MAX_TOOL_NAME}. The op has another name; search "
    "finds both."
)
PREFIXED = (
    "Its name is, or can be read as, that of another op or of one of the gateway's tools. It got a prefix, so that "
    "calls of the other one do not reach it."
)
HELD_BACK = (
    "Its summary is almost the same as that of an existing op, so it is held back: it stays retired until you write a "
    "different summary and set its status to active."
)
SIMILAR = "Its summary is almost the same as that of an op of another service. Say how it differs."
MIN_COPIED_WORDS = 3  # of a summary that is held back: two words, such as List users, are common to many ops

# Returns the path of the op of a catalog that a name is read as, or "". Only the gateway knows how it repairs names.
NameResolver = Callable[[Catalog, str], str]
Progress = Callable[[int], object]
_resolve_name: NameResolver = lambda catalog, name: ""  # noqa: E731, ARG005 - until it is set


def build_op_entry(op: SourceOp, *, path: str, tool_name: str, connection: str = "") -> OpEntry:
    """Return the entry of an op. If its tool name differs from the upstream's, that one is kept as well.

    It is a keyword only if it was not free for a tool: the name of another op must not find this one first.
    """
    entry = cast(OpEntry, {"op": path, "tool_name": tool_name} | op.fields)
    if connection:
        entry["connection"] = connection
    if op.name != tool_name:
        entry["upstream_name"] = op.name
    if op.tool_name != tool_name and clean_tool_name(op.tool_name) == tool_name:  # no prefix: the name is free
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


def set_name_resolver(resolver: NameResolver) -> None:
    """Set the function that resolves made-up names."""
    global _resolve_name
    _resolve_name = resolver


class InvalidImportGroup(Exception):
    """Ops cannot be imported into this group. The message says what to send."""


@dataclass
class ImportResult:
    """The result of an import. `upstream_names` is {path: upstream name} of every imported op, with paths at import."""

    merged: merge.MergeReport = field(default_factory=merge.MergeReport)
    upstream_names: dict[str, str] = field(default_factory=dict)
    retired: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    remarks: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # sentence -> upstream names
    content: Snapshot = field(default_factory=lambda: EMPTY_SNAPSHOT)  # groups and ops of the document


@dataclass
class _DraftState:
    """The draft before an import: this group's rows by upstream name, and the names that are taken."""

    rows: dict[str, tuple[Op, dict[str, Any]]]  # (row, entry of the last import)
    tree: op_paths.PathTree
    others: Catalog  # the ops outside of this import
    summaries: SummaryIndex  # of the active ones
    imported: Collection[str]  # the paths of all that was imported
    numbered_names: NumberedNames = field(default_factory=NumberedNames)

    @classmethod
    def load(cls, group: str) -> "_DraftState":
        content = snapshot.snapshot_draft()
        groups = {ROOT, *(each["path"] for each in content["groups"])}
        taken = {name for op in content["ops"] for name in checks.list_op_names(op)}
        rows = {
            get_upstream_name(row.shipped): (row, row.shipped)
            for row in merge.iterate_ops_of_source(group)
            if row.shipped
        }
        own = {row.op for row, _ in rows.values()}
        others = content | {"ops": [op for op in content["ops"] if op["op"] not in own]}
        names = {name for op in others["ops"] for name in checks.list_op_names(op)} | surface_copy.PRODUCT_TOOLS
        names |= {name for each in content["groups"] if (name := each.get("discovery_name"))}
        tree = op_paths.PathTree(taken, groups, frozenset(map(tokenizer.normalise_name, names)))
        catalog = builder.build_catalog("", others)
        imported = checks.get_imported_paths()
        active = (op for op in catalog.ops.values() if op.is_active)
        own_first = sorted(active, key=lambda op: op.op in imported or op.is_of_service)  # only so many are compared
        summaries = SummaryIndex({op.op: op.summary for op in own_first})
        return cls(rows, tree, catalog, summaries, imported)


def preview_paths(source: ImportSource, group: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return {upstream name: path} of the ops that were imported before, and of those that would be new."""
    draft = _DraftState.load(group)
    assigned = _assign_paths(source, group, draft, {})
    known = {name: path for name, path in assigned.items() if name in draft.rows}
    return known, {name: path for name, path in assigned.items() if name not in known}


def import_ops(
    source: ImportSource,
    *,
    group: str,
    connection: str = "",
    names: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> ImportResult:
    """Merge the ops of a document into the draft, inside a group. Ops that are no longer in the document are retired.

    An op that would break serving is refused; if it was imported before, it stays unchanged. Everything is prepared
    before the transaction, so the draft is locked only for a moment. `names` are the paths in the group that an admin
    chose for new ops, by upstream name. `progress` is called with how many ops were prepared. Raises
    InvalidImportGroup.
    """
    check_group(group)
    result = ImportResult(refusals=list(source.refusals))
    draft = _DraftState.load(group)
    assigned = _assign_paths(source, group, draft, names or {})
    op_entries = _build_entries(source, assigned, connection, group, draft, result, progress)
    groups = op_paths.build_group_entries(op_entries, group=group, about=source.describe())
    result.content = {"format": 1, "groups": groups, "ops": op_entries}
    retired_entries = _retire_missing(source, draft, result)
    with transaction.atomic():
        merge.merge_of_source(Kind.GROUP, groups, source=group, report=result.merged)
        merge.merge_ops(op_entries + retired_entries, source=group, report=result.merged)
    return result


def check_group(group: str) -> None:
    """Raise InvalidImportGroup if ops cannot be imported into a group with this path."""
    if len(group) > MAX_GROUP or not _is_valid_path(group) or group == ROOT:
        raise InvalidImportGroup(
            f"{cleanup.escape_for_terminal(group)} is not a valid group. Use lower-case words with underscores, "
            f"such as crm or acme.crm, at most {MAX_GROUP} characters."
        )
    ancestors = [group]
    while get_parent_path(ancestors[-1]) != ROOT:
        ancestors.append(get_parent_path(ancestors[-1]))
    if ancestors[-1] == AGENTS_PATH:
        raise InvalidImportGroup(f"{AGENTS_PATH} is where help lists the agents. Choose another group.")
    names = [*Op.objects.filter(op__in=ancestors).values_list("op", flat=True)]
    names += Op.objects.filter(tool_name__in=ancestors).values_list("tool_name", flat=True)
    names += OpAlias.objects.filter(name__in=ancestors).values_list("name", flat=True)
    if names:
        raise InvalidImportGroup(f"{names[0]} is already the name of an op. Choose another group.")


def get_upstream_name(entry: dict[str, Any]) -> str:
    """Return what identifies the op of an entry at its upstream."""
    return str(entry.get("upstream_name") or entry["tool_name"])


def _is_valid_path(text: str) -> bool:
    try:
        path_validator(text)
    except ValidationError:
        return False
    return True


def _assign_paths(source: ImportSource, group: str, draft: _DraftState, names: Mapping[str, str]) -> dict[str, str]:
    """Return {upstream name: path}: as at the last import, else as chosen, else as its name reads."""
    known_paths = {name: row.op for name, (row, _) in draft.rows.items()}
    for op in source.ops:
        if op.name in names and op.name not in known_paths:
            parent, _, leaf = f"{group}.{names[op.name]}".rpartition(".")
            known_paths[op.name] = draft.tree.claim_op_path(f"{draft.tree.claim_group(parent)}.{leaf}")
    parsed_names = {op.name: op.parsed for op in source.ops}
    return op_paths.assign_paths(parsed_names, group, draft.tree, known_paths=known_paths)


def _build_entries(
    source: ImportSource,
    assigned: Mapping[str, str],
    connection: str,
    group: str,
    draft: _DraftState,
    result: ImportResult,
    progress: Progress | None,
) -> list[OpEntry]:
    op_entries = []
    for at, op in enumerate(source.ops):
        if progress and at % PROGRESS_STEP == 0:
            progress(at)
        path = assigned[op.name]
        tool_name = _choose_tool_name(op, path, connection or group, draft)
        entry = build_op_entry(op, path=path, tool_name=tool_name, connection=connection)
        if _asks_first(op, draft):
            entry["confirm"] = True
        if problems := checks.find_op_errors(entry):
            result.refusals.append(Refusal(op.name, " ".join(problem.summary for problem in problems)))
            continue
        _hold_back_copy(entry, op, draft, result)
        op_entries.append(entry)
        result.upstream_names[path] = op.name
        _add_remarks(op, self_check.find_uncallable(entry, op.documented), result)
        if op.name not in draft.rows and tool_name != op.tool_name:
            is_cleaned = tool_name == cleanup.clean_tool_name(op.tool_name)
            result.remarks[RENAMED if is_cleaned else PREFIXED].append(op.name)
    return op_entries


def _choose_tool_name(op: SourceOp, path: str, prefix: str, draft: _DraftState) -> str:
    if op.name in draft.rows:
        _, shipped = draft.rows[op.name]
        return str(shipped["tool_name"])
    path_tree = draft.tree
    name = choose_tool_name(
        op.tool_name,
        prefix,
        lambda name: name == path or path_tree.is_free(name),
        lambda name: bool(_resolve_name(draft.others, name)),
        draft.numbered_names,
    )
    path_tree.taken.add(name)
    return name


def _asks_first(op: SourceOp, draft: _DraftState) -> bool:
    """Return whether an op asks the end user first: one that did at its last import still does.

    Merging keeps the choice of an admin who has cleared it since.
    """
    _, shipped = draft.rows.get(op.name, (None, {}))
    return op.confirm or bool(shipped.get("confirm"))


def _hold_back_copy(entry: OpEntry, op: SourceOp, draft: _DraftState, result: ImportResult) -> None:
    """Retire an entry whose new summary nearly copies that of an op outside of the import; only report a common one.

    An op that was imported before is judged again if its text has changed at its service, unless an admin has written
    another one. A status that an admin has chosen stays.
    """
    row, shipped = draft.rows.get(op.name, (None, {}))
    is_held = row is None or shipped.get("status") == Op.Status.RETIRED
    if not (is_held or (row and entry["summary"] != shipped["summary"] == row.summary)):
        return
    similar = draft.summaries.find_similar(entry["op"], entry["summary"])
    is_copy = (
        any(path not in draft.imported and not draft.others.ops[path].is_of_service for path in similar)
        and len(context.extract_words(entry["summary"])) >= MIN_COPIED_WORDS
    )
    shipped_status = snapshot.get_value(shipped, "status")
    has_chosen_status = row is not None and row.status != shipped_status
    if is_copy:
        entry["status"] = shipped_status if has_chosen_status else Op.Status.RETIRED
    if similar:
        result.remarks[HELD_BACK if is_copy and not has_chosen_status else SIMILAR].append(op.name)


def _add_remarks(op: SourceOp, found: Sequence[str], result: ImportResult) -> None:
    for sentence in (*op.remarks, *found):
        result.remarks[sentence].append(op.name)


def _retire_missing(source: ImportSource, draft: _DraftState, result: ImportResult) -> list[OpEntry]:
    """Return retired entries of the ops that are no longer in the document. What was refused counts as listed."""
    listed_names = {op.name for op in source.ops} | {refusal.name for refusal in source.refusals} | source.other_names
    missing = [draft.rows[name] for name in sorted(draft.rows) if name not in listed_names]
    result.retired = [row.op for row, _ in missing if row.status == Op.Status.ACTIVE]
    return [cast(OpEntry, {**shipped, "op": row.op, "status": Op.Status.RETIRED}) for row, shipped in missing]
