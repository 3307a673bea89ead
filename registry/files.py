"""Copy as files: YAML of groups, ops and prompt sections, held against a schema before anything is made of it."""

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

DEEPEST = 64  # objects and lists within each other; the API takes no deeper JSON

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
    """Return the YAML files of a folder as one snapshot, as `parse` does their texts. Raises BadCatalog."""
    return parse({path.name: path.read_bytes() for path in sorted(folder.glob("*.yaml"))}, alone=alone)


def parse(texts: Mapping[str, bytes], *, alone: bool = True) -> dict[str, Any]:
    """Return YAML, {name of a file: its bytes}, as one snapshot (see registry.snapshot). Raises BadCatalog.

    Where the files do not stand `alone`, but join what is there, what they lack is nobody's fault yet.
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
    """Return one file, as JSON that a release could hold."""
    try:
        _refuse_what_json_has_not(text)
        read = yaml.load(text, Loader=_Loader) or {}  # noqa: S506 - a safe loader
        document = strictjson.loads(json.dumps(read, allow_nan=False).encode())
    except (yaml.YAMLError, TypeError, ValueError, strictjson.NotStrictJSON) as error:
        raise BadCatalog([FILE_INVALID.found(name, "YAML", " ".join(str(error).split()))]) from None
    lists = document.values() if isinstance(document, dict) else [None]
    if not isinstance(document, dict) or set(document) - _KEYS or not all(isinstance(each, list) for each in lists):
        message = "A file holds lists of groups, ops and sections, and no other."
        raise BadCatalog([FILE_INVALID.found(name, "YAML", message)])
    return document


_KEYS = {"groups", "ops", "sections"}


class _Loader(yaml.CSafeLoader):
    """YAML's values as JSON has them: a date is text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
    for first, found in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _refuse_what_json_has_not(text: bytes) -> None:
    """Raise ValueError for references, tags and depth: a short file could stand for gigabytes, or end the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(f"It is nested more than {DEEPEST} deep.")
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"*{event.anchor} stands for something written elsewhere. Write it out.")
        if tag := getattr(event, "tag", None):
            raise ValueError(f"{tag} is no type of JSON. Leave it out.")


def _settled(op: dict[str, Any]) -> dict[str, Any]:
    """Write an entry as `snapshot.entry` would, so that the two can be compared."""
    settled = {**op, "aliases": sorted(op.get("aliases", []))}
    settled["examples"] = [{"args": {}, **example} for example in op.get("examples", [])]
    keep = ("needs_subject", "parameters_schema")
    return {name: value for name, value in settled.items() if name in keep or value not in ("", [], {}, None, False)}
