"""Copy from outside into rows, by a three-way merge that never overwrites an admin's edit.

Beside each row lies `shipped`, its entry as it last came. A field that still equals it follows what comes; a field
that an admin changed stays. Each row has one source and is merged with that one alone: what is shipped never touches
what was imported, nor one import another. Merging twice changes nothing. Some queries for every 500 rows.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db.models import Model

from registry import snapshot
from registry.models import Connection, Example, Group, Op, OpAlias, PolicyRule, PromptSection

BATCH = 500  # rows of a statement

# What a field says where an entry leaves it out.
_UNSAID: dict[str, Any] = {"policy": {}, "argument_aliases": {}, "needs_subject": True}
_UNSAID |= {"timeout_ms": 30_000, "status": Op.Status.ACTIVE, "confirm": False}
_UNSAID |= {name: [] for name in ("contexts", "keywords", "display_only", "examples", "aliases")}

_POLICY_KINDS = {key: kind for kind, key in snapshot.POLICY_KEYS.items()}

Row = TypeVar("Row", bound=Model)


@dataclass
class Report:
    """What merging did: paths by outcome, and the fields where an admin's edit was kept against a newer text."""

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    unchanged: int = 0

    def __str__(self) -> str:
        lines = [f"{len(self.added)} added, {len(self.updated)} updated, {self.unchanged} unchanged."]
        lines += [f"Kept your edit: {place}." for place in self.kept]
        lines += [f"Left out, since a row of another source has the name: {path}." for path in self.taken]
        lines += [f"No longer shipped, left as it is: {path}." for path in self.gone]
        return "\n".join(lines)

    def note(self, path: str, changes: dict[str, Any]) -> None:
        """Count a row that was there before by whether anything of it changed."""
        if changes:
            self.updated.append(path)
        else:
            self.unchanged += 1


def groups(entries: Iterable[dict[str, Any]], *, source: str, report: Report) -> None:
    """Merge groups. One that another source has is left to it: all that lies below may lie there."""
    rows = {group.path: group for group in Group.objects.all()}
    added, changed = [], []
    for entry in entries:
        row = rows.get(entry["path"])
        if row is None:
            added.append(Group(**entry, source=source, shipped=entry))
            report.added.append(entry["path"])
        elif row.source == source:
            ours = {"path": row.path, "summary": row.summary}
            changes = _three_way(entry["path"], row.shipped, ours, entry, report)
            report.note(entry["path"], changes)
            if _take(row, changes, entry):
                changed.append(row)
    _save(Group, added, changed, ["summary"])


def sections(entries: Iterable[dict[str, Any]], *, report: Report) -> None:
    """Merge prompt sections; only shipped ones come from outside."""
    rows = {(section.prompt, section.name): section for section in PromptSection.objects.all()}
    added, changed = [], []
    for entry in entries:
        row = rows.pop((entry["prompt"], entry["name"]), None)
        named = f"{entry['prompt']}, {entry['name']}"
        if row is None:
            added.append(PromptSection(**entry, shipped=entry))
            report.added.append(named)
            continue
        changes = _three_way(named, row.shipped, snapshot.section_entry(row), entry, report)
        report.note(named, changes)
        if _take(row, changes, entry):
            changed.append(row)
    _save(PromptSection, added, changed, snapshot.SECTION_FIELDS)
    report.gone += sorted(str(row) for row in rows.values() if row.shipped)


def ops(entries: Sequence[dict[str, Any]], *, source: str, report: Report) -> None:
    """Merge ops with all that hangs on them. One whose path or tool name another source has is left out and told."""
    rows = {op.op: op for op in of_source(source)}
    others = _names_of_others(source)
    connections = _connections(entry.get("connection", "") for entry in entries)
    added: list[Op] = []
    changed: list[Op] = []
    children: list[tuple[Op, dict[str, Any]]] = []
    for entry in entries:
        path = entry["op"]
        row = rows.get(path)
        if others.intersection((path, entry["tool_name"])):
            report.taken.append(path)
            continue
        if row is None:
            row, changes = Op(op=path, source=source), dict(entry)
            report.added.append(path)
            added.append(row)
        else:
            changes = _three_way(path, row.shipped, snapshot.entry(row), entry, report)
            report.note(path, changes)
            if not changes and row.shipped == entry:
                continue
            changed.append(row)
        if "connection" in changes:
            row.connection = connections.get(changes["connection"] or "")
        _take(row, {name: changes[name] for name in snapshot.OP_FIELDS if name in changes}, entry)
        children.append((row, changes))
    _save(Op, added, changed, [*snapshot.OP_FIELDS, "connection"])
    _replace_children(children, report)


def of_source(source: str) -> Iterator[Op]:
    """Return the ops of one source with all that hangs on them."""
    found = Op.objects.filter(source=source).select_related("connection")
    return found.prefetch_related("rules", "examples", "aliases").iterator(BATCH)


def _names_of_others(source: str) -> frozenset[str]:
    names = Op.objects.exclude(source=source).values_list("op", "tool_name")
    return frozenset(name for pair in names for name in pair)


def _three_way(
    path: str, base: dict[str, Any] | None, ours: dict[str, Any], theirs: dict[str, Any], report: Report
) -> dict[str, Any]:
    """Return the fields to take from outside: those that changed there and that no admin has changed here."""
    changes = {}
    for name in sorted({*(base or {}), *ours, *theirs}):
        was, now, new = ((side or {}).get(name, _UNSAID.get(name, "")) for side in (base, ours, theirs))
        if new in (was, now):
            continue
        if now == was:
            changes[name] = new
        else:
            report.kept.append(f"{path} {name}")
    return changes


def _take(row: Any, changes: dict[str, Any], entry: dict[str, Any]) -> bool:
    """Set the changed fields and the baseline of a row; return whether either is new."""
    if not changes and row.shipped == entry:
        return False
    for name, value in changes.items():
        setattr(row, name, value)
    row.shipped = entry
    return True


def _save(model: type[Row], added: list[Row], changed: list[Row], fields: Collection[str]) -> None:
    model._default_manager.bulk_create(added, batch_size=BATCH)
    # An upsert by id: several times as fast as bulk_update, whose statements have a CASE for each row and field.
    model._default_manager.bulk_create(
        changed,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=[*fields, "shipped", "updated_at"],
    )


def _connections(names: Iterable[str]) -> dict[str, Connection]:
    return {name: Connection.objects.get_or_create(name=name)[0] for name in sorted(set(names)) if name}


def _replace_children(pairs: list[tuple[Op, dict[str, Any]]], report: Report) -> None:
    def having(name: str) -> list[tuple[Op, Any]]:
        return [(row, changes[name]) for row, changes in pairs if name in changes]

    policies, examples, aliases = having("policy"), having("examples"), having("aliases")
    _replace(
        PolicyRule,
        [row for row, _ in policies],
        [
            PolicyRule(op=row, kind=_POLICY_KINDS[key], text=text, position=position)
            for row, policy in policies
            for key, texts in policy.items()
            for position, text in enumerate(texts)
        ],
    )
    _replace(
        Example,
        [row for row, _ in examples],
        [
            Example(op=row, position=position, **example)
            for row, said in examples
            for position, example in enumerate(said)
        ],
    )
    _replace(OpAlias, [row for row, _ in aliases], [])
    taken = set(OpAlias.objects.values_list("name", flat=True)) if aliases else set()
    wanted = [(row, name) for row, names in aliases for name in names]
    OpAlias.objects.bulk_create(
        [OpAlias(op=row, name=name) for row, name in wanted if name not in taken], batch_size=BATCH
    )
    report.kept += [f"{name}, an alias of another op" for _, name in wanted if name in taken]


def _replace(model: type[Row], ops: list[Op], rows: list[Row]) -> None:
    for start in range(0, len(ops), BATCH):
        model._default_manager.filter(op__in=ops[start : start + BATCH]).delete()
    model._default_manager.bulk_create(rows, batch_size=BATCH)
