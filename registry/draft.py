"""Write whole entries into the draft: from files, from a release, or from before a change.

Unlike registry.merge, this overwrites what is there. Every change is recorded in the history.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from registry import changes, checks, history, snapshot, writing
from registry.changes import KINDS, Action, Change, Kind
from registry.models import Group, Op, PromptSection

# Fields of an op that other ops depend on: names that must be unique, and ops that run in place of another.
_SHARED = {"op", "tool_name", "upstream_name", "aliases", "kind", "successor", "without_id", "parameters_schema"}


class NothingToDo(Exception):
    """The draft has this content already; nothing was changed."""


class Refused(Exception):
    """The change would add problems to the draft, so nothing was changed. `problems` lists them with fixes."""

    def __init__(self, problems: Sequence[Any]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:5]))
        self.problems = list(problems)


class Moved(Exception):
    """The draft was changed after the user reviewed it; nothing was changed now."""


def read(kind: Kind, name: str) -> dict[str, Any] | None:
    """Return the draft's entry with this name, or None."""
    found = row(kind, name)
    return None if found is None else entry_of(found)


def entry_of(row: Group | Op | PromptSection) -> dict[str, Any]:
    """Return a row as an entry (see registry.snapshot)."""
    if isinstance(row, Group):
        return {"path": row.path, "summary": row.summary}
    return snapshot.entry(row) if isinstance(row, Op) else snapshot.section_entry(row)


def changes_to(content: dict[str, Any], *, whole: bool = False) -> list[Change]:
    """Return what writing a snapshot would change in the draft. With `whole`, entries missing from it are removed."""
    return _wanted(changes.between(snapshot.draft(), content), whole=whole)


def write(
    content: dict[str, Any], *, by: str, at: datetime, note: str, whole: bool = False, seen: str = ""
) -> list[Change]:
    """Write a snapshot into the draft and return what changed. With `whole`, remove entries that it lacks.

    `seen` is the version of the draft that the user reviewed. Raises NothingToDo, Refused, Moved.
    """
    _refuse_doubles(content)
    with transaction.atomic():
        before = snapshot.draft()
        if seen and snapshot.version(before) != seen:
            raise Moved("The draft has changed since you reviewed it. Review the changes again.")
        wanted = _wanted(changes.between(before, content), whole=whole)
        if not wanted:
            raise NothingToDo("The draft has this content already.")
        _refuse_new(checks.problems(before), checks.problems(_with(before, content, wanted)))
        _write(content, wanted)
        history.record(wanted, by=by, at=at, note=note)
    return wanted


def put(kind: Kind, name: str, entry: dict[str, Any] | None, *, by: str, at: datetime, note: str) -> Change:
    """Replace one group, op or prompt section with an entry, under the entry's name. None removes it.

    Raises NothingToDo, Refused.
    """
    with transaction.atomic():
        now = row(kind, name)
        change = changes.of_entry(kind, entry_of(now) if now else None, entry)
        if change is None:
            raise NothingToDo("The draft has this content already.")
        if entry is not None and _concerns_it_alone(change):
            _refuse_new(checks.op_problems(entry_of(now)), checks.op_problems(entry))
        else:
            before = snapshot.draft()
            _refuse_new(checks.problems(before), checks.problems(_replaced(before, kind, name, entry)))
        if entry is None and now is not None:
            now.delete()
        elif entry is not None:
            _save(kind, {name: now} if now else {}, {name: entry}, {name: change})
        history.record([change], by=by, at=at, note=note)
    return change


def row(kind: Kind, name: str) -> Any:
    """Return the row of the draft's entry with this name, or None."""
    return rows(kind, [name]).get(name)


def rows(kind: Kind, names: Iterable[str]) -> dict[str, Any]:
    """Return {name: row} for the names that exist in the draft."""
    if kind == Kind.GROUP:
        return dict(Group.objects.in_bulk(list(names), field_name="path"))
    if kind == Kind.OP:
        found = Op.objects.select_related("connection").prefetch_related("rules", "examples", "aliases")
        return dict(found.in_bulk(list(names), field_name="op"))
    wanted = set(names)
    rows = {snapshot.section_name(snapshot.section_entry(row)): row for row in PromptSection.objects.all()}
    return {name: row for name, row in rows.items() if name in wanted}


def _wanted(found: list[Change], *, whole: bool) -> list[Change]:
    return [change for change in found if whole or change.action != Action.REMOVED]


def _with(before: dict[str, Any], content: dict[str, Any], wanted: list[Change]) -> dict[str, Any]:
    """Return the draft's content after the changes."""
    after: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        new = changes.entries(content, kind)
        gone = {change.name for change in wanted if change.kind == kind and change.action == Action.REMOVED}
        old = {name: entry for name, entry in changes.entries(before, kind).items() if name not in gone}
        after[kind] = old | new
    return _content(after)


def _replaced(before: dict[str, Any], kind: Kind, name: str, entry: dict[str, Any] | None) -> dict[str, Any]:
    after = {each: changes.entries(before, each) for each in KINDS}
    after[kind].pop(name, None)
    if entry is not None:
        after[kind][changes.name_of(kind, entry)] = entry
    return _content(after)


def _content(entries: dict[Any, dict[str, Any]]) -> dict[str, Any]:
    groups, ops, sections = (list(entries[kind].values()) for kind in KINDS)
    return {"format": 1, "groups": groups, "ops": ops, "sections": sections}


def _concerns_it_alone(change: Change) -> bool:
    """Return whether a change can break only its own op, so that the other ops need not be checked."""
    return change.kind == Kind.OP and change.action == Action.CHANGED and not change.fields.keys() & _SHARED


def _refuse_new(before: Sequence[Any], after: Sequence[Any]) -> None:
    """Raise Refused for problems that are new. Old ones may stay, so that an unfinished draft can be edited."""
    known = {str(problem) for problem in before}
    if problems := [problem for problem in after if str(problem) not in known]:
        raise Refused(problems)


def _refuse_doubles(content: dict[str, Any]) -> None:
    """Raise Refused if an entry appears twice: it is unclear which one is meant."""
    said = [(kind, changes.name_of(kind, entry)) for kind in KINDS for entry in content.get(f"{kind}s", [])]
    doubles = [(kind, name) for (kind, name), times in Counter(said).items() if times > 1]
    if doubles:
        raise Refused([f"{name}, {kind}: This entry appears more than once. Keep one." for kind, name in doubles])


def _write(content: dict[str, Any], wanted: list[Change]) -> None:
    removed = [change for change in wanted if change.action == Action.REMOVED]
    for kind in KINDS:
        for row in rows(kind, [change.name for change in removed if change.kind == kind]).values():
            row.delete()
    for kind in KINDS:
        mine = {change.name: change for change in wanted if change.kind == kind and change.action != Action.REMOVED}
        entries = changes.entries(content, kind)
        _save(kind, rows(kind, mine), {name: entries[name] for name in mine}, mine)


def _save(kind: Kind, rows: dict[str, Any], entries: dict[str, dict[str, Any]], wanted: dict[str, Change]) -> None:
    """Write entries of one kind into rows. New rows belong to the admins, not to an import."""
    model, fields = _MODELS[kind]
    connections = writing.connections(entry.get("connection", "") for entry in entries.values())
    added: list[Any] = []
    changed: list[Any] = []
    children: list[tuple[Any, dict[str, Any]]] = []
    for name, entry in entries.items():
        row = rows.get(name) or model()
        for field in fields:
            if field in wanted[name].fields:
                setattr(row, field, snapshot.value(entry, field))
        if kind == Kind.OP:
            row.connection = connections.get(entry.get("connection", ""))
            told = {field: snapshot.value(entry, field) for field in wanted[name].fields}
            children.append((row, told))
        (changed if name in rows else added).append(row)
    try:
        with transaction.atomic():
            writing.save(model, added, changed, [*fields, *(["connection"] if kind == Kind.OP else [])])
            writing.replace_children(children)
    except IntegrityError:
        message = "Two entries swap names, or someone else changed the draft just now. Try again, one entry at a time."
        raise Moved(message) from None


_MODELS: dict[Kind, tuple[type[Any], tuple[str, ...]]] = {
    Kind.GROUP: (Group, ("path", "summary")),
    Kind.OP: (Op, snapshot.OP_FIELDS),
    Kind.SECTION: (PromptSection, snapshot.SECTION_FIELDS),
}

KIND_OF: dict[type[Any], Kind] = {model: kind for kind, (model, _) in _MODELS.items()}
