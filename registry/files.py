"""Read groups, ops and prompt sections from YAML files, validating them against a schema first."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from core import strictjson
from registry import schemas
from registry.checks import blocking
from registry.checks.blocking import FILE_INVALID
from registry.checks.finding import Finding

DEEPEST = 64  # levels of nested objects and lists; the API has the same limit

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
    """The files are invalid or would break serving; nothing was loaded. `problems` lists them with fixes."""

    def __init__(self, problems: list[Finding]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:5]))
        self.problems = problems


def read(folder: Path, *, alone: bool = True) -> dict[str, Any]:
    """Return a folder's YAML files as one snapshot (see `parse`). Raises BadCatalog."""
    return parse({path.name: path.read_bytes() for path in sorted(folder.glob("*.yaml"))}, alone=alone)


def parse(texts: Mapping[str, bytes], *, alone: bool = True) -> dict[str, Any]:
    """Return YAML files, {file name: bytes}, as one snapshot (see registry.snapshot). Raises BadCatalog.

    With `alone`, the files must form a complete catalog. Without it they join existing entries, so missing ones are
    not reported.
    """
    groups: list[dict[str, Any]] = []
    ops: list[dict[str, Any]] = []
    sections: list[dict[str, Any]] = []
    problems: list[Finding] = []
    kinds = [("groups", _GROUP, groups), ("ops", _OP, ops), ("sections", _SECTION, sections)]
    held = [(key, schemas.Validator(schema), found) for key, schema, found in kinds]
    for file, text in texts.items():
        document = _document(file, text)
        for key, validator, found in held:
            for index, entry in enumerate(document.get(key) or []):
                name = _named(entry) or str(index)
                wrong = validator.problems(entry)
                problems += [FILE_INVALID.found(name, file, message) for message in wrong]
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


def _document(name: str, text: bytes) -> dict[str, Any]:
    """Parse one file into JSON that a release can store. Raises BadCatalog."""
    try:
        _refuse_what_json_has_not(text)
        read = yaml.load(text, Loader=_Loader) or {}  # noqa: S506 - a safe loader
        document = strictjson.loads(json.dumps(read, allow_nan=False).encode())
    except (yaml.YAMLError, TypeError, ValueError, strictjson.NotStrictJSON) as error:
        raise BadCatalog([FILE_INVALID.found(name, "YAML", " ".join(str(error).split()))]) from None
    lists = document.values() if isinstance(document, dict) else [None]
    if not isinstance(document, dict) or set(document) - _KEYS or not all(isinstance(each, list) for each in lists):
        message = "A file may only contain lists named groups, ops and sections."
        raise BadCatalog([FILE_INVALID.found(name, "YAML", message)])
    return document


_KEYS = {"groups", "ops", "sections"}


class _Loader(yaml.CSafeLoader):
    """Load YAML values as JSON types: a date stays text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _refuse_what_json_has_not(text: bytes) -> None:
    """Raise ValueError for aliases, tags and deep nesting: a short file could fill the memory or crash the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(f"Nested more than {DEEPEST} levels deep.")
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"The alias *{event.anchor} is not allowed. Write its value out.")
        if tag := getattr(event, "tag", None):
            raise ValueError(f"The tag {tag} is not a JSON type. Remove it.")


def _settled(op: dict[str, Any]) -> dict[str, Any]:
    """Return an op's entry in the form that `snapshot.entry` gives, so that the two can be compared."""
    settled = {**op, "aliases": sorted(op.get("aliases", []))}
    settled["examples"] = [{"args": {}, **example} for example in op.get("examples", [])]
    keep = ("needs_subject", "parameters_schema")
    return {name: value for name, value in settled.items() if name in keep or value not in ("", [], {}, None, False)}
