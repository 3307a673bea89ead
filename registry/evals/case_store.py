"""Write eval cases from files into rows: those that ship with the catalog, and those that an admin imports."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction

from analytics import audit
from analytics.models import AuditEntry
from registry.drafts import bulk_writes, merge
from registry.drafts.merge import MergeReport
from registry.files.case_files import FIELDS_BY_NAME, CaseEntry, case_to_entry
from registry.models import EvalCase


class CasesRefused(Exception):
    """Some cases are invalid, so none was written. `problems` has a sentence for each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems[:5]))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ImportedCases:
    """How many cases an import added, changed and left as they were."""

    added: int
    changed: int
    unchanged: int

    def __str__(self) -> str:
        return f"{self.added} added, {self.changed} changed, {self.unchanged} unchanged."


@transaction.atomic
def merge_shipped_cases(entries: Sequence[CaseEntry]) -> MergeReport:
    """Merge shipped cases into the rows and report what was done. A field that an admin changed stays.

    A case that an admin wrote, with the same request, is left alone.
    """
    report = MergeReport()
    rows = {case.request: case for case in EvalCase.objects.all()}
    added, changed = [], []
    for entry in entries:
        row = rows.get(entry["request"])
        if row is None:
            added.append(set_fields(EvalCase(shipped=entry), entry))
            report.added.append(entry["request"])
        elif row.shipped is not None:
            changes = merge.merge_fields(entry["request"], row.shipped, case_to_entry(row), entry, report)
            if changes:
                report.updated.append(entry["request"])
            else:
                report.unchanged += 1
            if changes or row.shipped != entry:
                row.shipped = entry
                changed.append(set_fields(row, changes))
    bulk_writes.save_rows(EvalCase, added, changed, FIELDS_BY_NAME.values())
    requests = {entry["request"] for entry in entries}
    report.no_longer_shipped = sorted(name for name, row in rows.items() if row.shipped and name not in requests)
    return report


def import_cases(entries: Iterable[CaseEntry], *, by: str, at: datetime) -> ImportedCases:
    """Add cases, and replace those with the same request. Others stay. Raises CasesRefused."""
    entries = list(entries)
    rows = {case.request: case for case in EvalCase.objects.filter(request__in=[each["request"] for each in entries])}
    problems: list[str] = []
    counts = {None: 0, AuditEntry.Action.ADDED: 0, AuditEntry.Action.CHANGED: 0}
    with transaction.atomic():
        for entry in entries:
            row = rows.get(entry["request"])
            before = case_to_entry(row) if row else None
            case = set_fields(row or EvalCase(), entry)
            if before == entry:
                counts[None] += 1
                continue
            try:
                case.full_clean(validate_unique=False)
            except ValidationError as error:
                problems += [f"{case}: {message}" for message in error.messages]
                continue
            case.save()
            change = audit.record_change(AuditEntry.Kind.EVAL_CASE, str(case), before, entry, by=by, at=at)
            counts[AuditEntry.Action(change.action) if change else None] += 1
        if problems:
            raise CasesRefused(problems)
    return ImportedCases(counts[AuditEntry.Action.ADDED], counts[AuditEntry.Action.CHANGED], counts[None])


def set_fields(case: EvalCase, entry: CaseEntry) -> EvalCase:
    """Set the fields of a row that an entry has, without saving it, and return the row."""
    for name, value in entry.items():
        setattr(case, FIELDS_BY_NAME[name], value)
    return case
