"""Copy as files: YAML of groups, ops and prompt sections, held against a schema before anything is made of it."""

from pathlib import Path
from typing import Any

import yaml

from registry import schemas
from registry.checks import blocking
from registry.checks.blocking import FILE_INVALID
from registry.checks.finding import Finding

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string", "minLength": 1}}
_NAME: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 200}

_GROUP: dict[str, Any] = {
    "type": "object",
    "properties": {"path": _NAME, "summary": _NAME},
    "required": ["path", "summary"],
    "additionalProperties": False,
}
_EXAMPLE: dict[str, Any] = {
    "type": "object",
    "properties": {"title": _TEXT, "args": {"type": "object"}, "note": _TEXT},
    "additionalProperties": False,
}
_OP: dict[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("op", "tool_name", "summary"), _NAME),
        **dict.fromkeys(
            ("entity", "action", "category", "description", "notes", "successor", "connection", "without_id"), _TEXT
        ),
        "upstream_name": {"type": "string", "maxLength": 200},
        **dict.fromkeys(("contexts", "keywords", "display_only", "aliases"), _TEXTS),
        "kind": {"enum": ["read", "write"]},
        "status": {"enum": ["active", "retired"]},
        "needs_subject": {"type": "boolean"},
        "confirm": {"type": "boolean"},
        "timeout_ms": {"type": "integer", "minimum": 100, "maximum": 120_000},
        "parameters_schema": {"type": "object"},
        "argument_aliases": {"type": "object", "additionalProperties": _TEXT},
        "policy": {
            "type": "object",
            "properties": {"do": _TEXTS, "dont": _TEXTS, "edge_cases": _TEXTS},
            "additionalProperties": False,
        },
        "examples": {"type": "array", "items": _EXAMPLE},
    },
    "required": ["op", "tool_name", "kind", "summary", "parameters_schema"],
    "additionalProperties": False,
}
_WORD: dict[str, Any] = {"type": "string", "pattern": "^[a-z][a-z0-9_]*$", "maxLength": 60}
_SECTION: dict[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("prompt", "name"), _WORD),
        "title": _NAME,
        "text": {"type": "string", "minLength": 1, "maxLength": 8000},
        "position": {"type": "integer", "minimum": 0, "maximum": 32_767},
        "status": {"enum": ["active", "retired"]},
    },
    "required": ["prompt", "name", "position", "title", "text"],
    "additionalProperties": False,
}


class BadCatalog(Exception):
    """The files would break serving; nothing was loaded. `problems` says where and what to do."""

    def __init__(self, problems: list[Finding]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:5]))
        self.problems = problems


def read(folder: Path, *, alone: bool = True) -> dict[str, Any]:
    """Return the YAML files of a folder as one snapshot (see registry.snapshot). Raises BadCatalog.

    Where the files do not stand `alone`, but join what is there, what they lack is nobody's fault yet.
    """
    groups: list[dict[str, Any]] = []
    ops: list[dict[str, Any]] = []
    sections: list[dict[str, Any]] = []
    problems: list[Finding] = []
    kinds = [("groups", _GROUP, groups), ("ops", _OP, ops), ("sections", _SECTION, sections)]
    held = [(key, schemas.Validator(schema), found) for key, schema, found in kinds]
    for path in sorted(folder.glob("*.yaml")):
        document = _document(path)
        for key, validator, found in held:
            for index, entry in enumerate(document.get(key, [])):
                name = _named(entry) or str(index)
                wrong = validator.problems(entry)
                problems += [FILE_INVALID.found(name, path.name, message) for message in wrong]
                found.append(entry)
    if problems:
        raise BadCatalog(problems)
    content = {"format": 1, "groups": groups, "ops": [_settled(op) for op in ops]}
    if sections:
        content["sections"] = [{"status": "active", **section} for section in sections]
    if alone and (problems := blocking.problems(content)):
        raise BadCatalog(problems)
    return content


def _named(entry: Any) -> str:
    named = (entry.get(key) for key in ("op", "path", "name")) if isinstance(entry, dict) else ()
    return str(next(filter(None, named), ""))


def _document(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadCatalog([FILE_INVALID.found(path.name, "YAML", " ".join(str(error).split()))]) from None
    if not isinstance(document, dict) or set(document) - {"groups", "ops", "sections"}:
        message = "A file holds lists of groups, ops and sections, and no other."
        raise BadCatalog([FILE_INVALID.found(path.name, "YAML", message)])
    return document


def _settled(op: dict[str, Any]) -> dict[str, Any]:
    """Write an entry as `snapshot.entry` would, so that the two can be compared."""
    settled = {**op, "aliases": sorted(op.get("aliases", []))}
    settled["examples"] = [{"args": {}, **example} for example in op.get("examples", [])]
    keep = ("needs_subject", "parameters_schema")
    return {name: value for name, value in settled.items() if name in keep or value not in ("", [], {}, None, False)}
