"""Eval cases in YAML files and in rows: read, written, imported."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from audit import audit_log
from audit.models import AuditEntry
from registry.checks.errors import FILE_INVALID
from registry.drafts import bulk_writes, merge
from registry.drafts.merge import MergeReport
from registry.files import export
from registry.files.yaml_format import InvalidCatalogFiles, parse_document
from registry.jsonschema.validator import SchemaValidator
from registry.models import EvalCase
from registry.models.eval_case import MAX_REQUEST_LENGTH

SHIPPED_FOLDER = Path(__file__).parent.parent / "shipped" / "evals"
KEY = "cases"  # the list of cases in a file

# The names in a file of the fields of a case, in reading order.
FIELDS_BY_NAME = {
    "request": "request",
    "op": "op",
    "also_accepted": "also_accepted",
    "args": "args",
    "set": "case_set",
    "tags": "tags",
    "note": "note",
    "active": "is_active",
}
_DEFAULTS: dict[str, Any] = {
    "also_accepted": [],
    "args": None,
    "set": EvalCase.Set.TUNED.value,
    "tags": [],
    "note": "",
    "active": True,
}
_TEXTS_SCHEMA: dict[str, Any] = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 200}}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "request": {"type": "string", "minLength": 1, "maxLength": MAX_REQUEST_LENGTH, "pattern": r"\S"},
        "op": {"type": "string", "minLength": 1, "maxLength": 200},
        "also_accepted": _TEXTS_SCHEMA,
        "args": {"type": ["object", "null"]},
        "set": {"enum": EvalCase.Set.values},
        "tags": _TEXTS_SCHEMA,
        "note": {"type": "string", "maxLength": 500},
        "active": {"type": "boolean"},
    },
    "required": ["request", "op"],
    "additionalProperties": False,
}
CaseEntry = dict[str, Any]  # all names of FIELDS_BY_NAME


def read_shipped_cases() -> list[CaseEntry]:
    """Return the cases that ship with the catalog."""
    return parse_case_files({path.name: path.read_bytes() for path in sorted(SHIPPED_FOLDER.glob("*.yaml"))})


def parse_case_files(texts: Mapping[str, bytes]) -> list[CaseEntry]:
    """Return the cases in YAML files, {file name: bytes}, each with all fields. Raises InvalidCatalogFiles."""
    validator = SchemaValidator(_SCHEMA)
    entries: dict[str, CaseEntry] = {}
    problems = []
    for file, text in texts.items():
        for index, entry in enumerate(parse_document(file, text, keys=[KEY]).get(KEY, [])):
            name = str(entry.get("request") or index) if isinstance(entry, dict) else str(index)
            if messages := validator.find_problems(entry):
                problems += [FILE_INVALID.make_finding(name, file, message) for message in messages]
                continue
            full_entry = {**_DEFAULTS, **entry, "request": " ".join(entry["request"].split())}
            if full_entry["request"] in entries:
                problems.append(FILE_INVALID.make_finding(name, file, "This request appears more than once. Keep one."))
            entries[full_entry["request"]] = full_entry
    if problems:
        raise InvalidCatalogFiles(problems)
    return list(entries.values())


def dump_cases(cases: Iterable[EvalCase]) -> str:
    """Return cases as YAML, without the fields that have their defaults."""
    entries = [_drop_defaults(case_to_entry(case)) for case in cases]
    return export.dump_yaml({KEY: entries})


def case_to_entry(case: EvalCase) -> CaseEntry:
    """Return a row as an entry."""
    return {name: getattr(case, field) for name, field in FIELDS_BY_NAME.items()}


def _drop_defaults(entry: CaseEntry) -> CaseEntry:
    return {name: value for name, value in entry.items() if name not in _DEFAULTS or value != _DEFAULTS[name]}


class CasesRefused(Exception):
    """Some cases are invalid, so none was written. `problems` has a sentence for each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems[:5]))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class ImportedCases:
    """How many cases an import added, changed and left unchanged."""

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
            change = audit_log.record_change("eval_case", str(case), before, entry, by=by, at=at)
            counts[AuditEntry.Action(change.action) if change else None] += 1
        if problems:
            raise CasesRefused(problems)
    return ImportedCases(counts[AuditEntry.Action.ADDED], counts[AuditEntry.Action.CHANGED], counts[None])


def set_fields(case: EvalCase, entry: CaseEntry) -> EvalCase:
    """Set the fields of a row that an entry has, without saving it, and return the row."""
    for name, value in entry.items():
        setattr(case, FIELDS_BY_NAME[name], value)
    return case
