"""Shipped copy into rows, by a three-way merge that never overwrites an admin's edit.

Beside each row lies `shipped`, its entry as it was last shipped. A field that still equals it follows the files; a
field that an admin changed stays. Running it twice changes nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction

from registry import files, snapshot
from registry.models import Connection, Example, Group, Op, OpAlias, PolicyRule, PromptSection

CATALOG = Path(__file__).parent / "catalog"

# What a field says where an entry leaves it out.
_UNSAID: dict[str, Any] = {"policy": {}, "argument_aliases": {}, "needs_subject": True}
_UNSAID |= {"timeout_ms": 30_000, "status": Op.Status.ACTIVE, "confirm": False}
_UNSAID |= {name: [] for name in ("contexts", "keywords", "display_only", "examples", "aliases")}


@dataclass
class Report:
    """What loading did: paths by outcome, and the fields where an admin's edit was kept against a newer text."""

    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    unchanged: int = 0

    def __str__(self) -> str:
        lines = [f"{len(self.added)} added, {len(self.updated)} updated, {self.unchanged} unchanged."]
        lines += [f"Kept your edit: {place}." for place in self.kept]
        lines += [f"No longer shipped, left as it is: {path}." for path in self.gone]
        return "\n".join(lines)


def read(folder: Path = CATALOG) -> dict[str, Any]:
    """Return the shipped catalog as a snapshot. Raises files.BadCatalog."""
    return files.read(folder)


@transaction.atomic
def load(content: dict[str, Any]) -> Report:
    """Merge a snapshot of shipped copy into the draft and say what was done."""
    report = Report()
    _merge_groups(content["groups"], report)
    rows = {
        op.op: op for op in Op.objects.select_related("connection").prefetch_related("rules", "examples", "aliases")
    }
    connections = _connections(entry.get("connection", "") for entry in content["ops"])
    for shipped in content["ops"]:
        _merge_op(rows.get(shipped["op"]), shipped, connections, report)
    named = {entry["op"] for entry in content["ops"]}
    report.gone = sorted(path for path, row in rows.items() if row.shipped and path not in named)
    _merge_sections(content.get("sections", []), report)
    return report


def _merge_groups(groups: list[dict[str, Any]], report: Report) -> None:
    rows = {group.path: group for group in Group.objects.all()}
    for shipped in groups:
        row = rows.get(shipped["path"])
        if row is None:
            Group.objects.create(path=shipped["path"], summary=shipped["summary"], shipped=shipped)
            report.added.append(shipped["path"])
            continue
        changes = _three_way(shipped["path"], row.shipped, {"path": row.path, "summary": row.summary}, shipped, report)
        _note(shipped["path"], changes, report)
        if changes or row.shipped != shipped:
            row.summary = changes.get("summary", row.summary)
            row.shipped = shipped
            row.save()


def _merge_sections(sections: list[dict[str, Any]], report: Report) -> None:
    rows = {(section.prompt, section.name): section for section in PromptSection.objects.all()}
    for shipped in sections:
        row = rows.pop((shipped["prompt"], shipped["name"]), None)
        named = f"{shipped['prompt']}, {shipped['name']}"
        if row is None:
            PromptSection.objects.create(**shipped, shipped=shipped)
            report.added.append(named)
            continue
        changes = _three_way(named, row.shipped, snapshot.section_entry(row), shipped, report)
        _note(named, changes, report)
        if changes or row.shipped != shipped:
            for name, value in changes.items():
                setattr(row, name, value)
            row.shipped = shipped
            row.save()
    report.gone += sorted(str(row) for row in rows.values() if row.shipped)


def _merge_op(row: Op | None, shipped: dict[str, Any], connections: dict[str, Connection], report: Report) -> None:
    path = shipped["op"]
    if row is None:
        row = Op(op=path, shipped=shipped)
        changes = dict(shipped)
        report.added.append(path)
    else:
        changes = _three_way(path, row.shipped, snapshot.entry(row), shipped, report)
        _note(path, changes, report)
        if not changes and row.shipped == shipped:
            return
    row.shipped = shipped
    for name in snapshot.OP_FIELDS:
        if name in changes:
            setattr(row, name, changes[name])
    if "connection" in changes:
        row.connection = connections.get(changes["connection"] or "")
    row.save()
    _replace_children(row, changes, report)


def _three_way(
    path: str, base: dict[str, Any] | None, ours: dict[str, Any], theirs: dict[str, Any], report: Report
) -> dict[str, Any]:
    """Return the fields to take from the files: those that changed there and that no admin has changed here."""
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


def _note(path: str, changes: dict[str, Any], report: Report) -> None:
    if changes:
        report.updated.append(path)
    else:
        report.unchanged += 1


def _connections(names: Iterable[str]) -> dict[str, Connection]:
    return {name: Connection.objects.get_or_create(name=name)[0] for name in sorted(set(names)) if name}


def _replace_children(row: Op, changes: dict[str, Any], report: Report) -> None:
    if "policy" in changes:
        row.rules.all().delete()
        kinds = {key: kind for kind, key in snapshot.POLICY_KEYS.items()}
        PolicyRule.objects.bulk_create(
            PolicyRule(op=row, kind=kinds[key], text=text, position=position)
            for key, texts in changes["policy"].items()
            for position, text in enumerate(texts)
        )
    if "examples" in changes:
        row.examples.all().delete()
        Example.objects.bulk_create(
            Example(op=row, position=position, **example) for position, example in enumerate(changes["examples"])
        )
    if "aliases" in changes:
        row.aliases.all().delete()
        taken = set(OpAlias.objects.filter(name__in=changes["aliases"]).values_list("name", flat=True))
        OpAlias.objects.bulk_create(OpAlias(op=row, name=name) for name in changes["aliases"] if name not in taken)
        report.kept += [f"{name}, an alias of another op" for name in sorted(taken)]
