"""Eval cases as YAML files: the form of an entry, reading and writing."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from registry.checks.errors import FILE_INVALID
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
