"""Read copy from YAML files, validating its entries against a schema first."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import yaml
from django.core.exceptions import ValidationError
from django.utils.text import get_text_list

from core.text import json_text
from registry import request_mapping
from registry.checks import errors
from registry.checks.errors import FILE_INVALID
from registry.checks.finding import Finding
from registry.flow_labels import FlowLabel
from registry.jsonschema.validator import SchemaValidator
from registry.models import Pin, Vocabulary
from registry.snapshot import snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, KIND_BY_KEY, Kind
from registry.snapshot.entries import Entry, Snapshot
from registry.vocabulary import KEY as VOCABULARY_KEY

MAX_DEPTH = 64  # levels of nested objects and lists; the API has the same limit
MAX_VOCABULARY = 2_000  # entries of a vocabulary in files together

_TEXT_SCHEMA: dict[str, Any] = {"type": "string"}
_TEXT_LIST_SCHEMA: dict[str, Any] = {"type": "array", "items": {"type": "string", "minLength": 1}}
_NAME_SCHEMA: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 200}
_DISCOVERY_NAME_SCHEMA: dict[str, Any] = {"type": "string", "pattern": "^discover_[a-z0-9_]{1,54}$"}

_GROUP_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": _NAME_SCHEMA,
        "summary": _NAME_SCHEMA,
        "discovery_name": _DISCOVERY_NAME_SCHEMA,
        "discovery_summary": {"type": "string", "maxLength": 200},
    },
    "required": ["path", "summary"],
    "additionalProperties": False,
}
_TEXT_MAP_SCHEMA: dict[str, Any] = {"type": "object", "additionalProperties": _TEXT_SCHEMA}
_EXAMPLE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"title": _TEXT_SCHEMA, "args": {"type": "object"}, "note": _TEXT_SCHEMA},
    "additionalProperties": False,
}
_OP_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("op", "tool_name", "summary"), _NAME_SCHEMA),
        **dict.fromkeys(
            ("entity", "action", "category", "description", "notes", "successor", "connection", "without_id"),
            _TEXT_SCHEMA,
        ),
        "upstream_name": {"type": "string", "maxLength": 500},
        "request": request_mapping.SCHEMA,
        **dict.fromkeys(("contexts", "keywords", "display_only", "aliases", "result_fields"), _TEXT_LIST_SCHEMA),
        "kind": {"enum": ["read", "write"]},
        "status": {"enum": ["active", "retired"]},
        "needs_subject": {"type": "boolean"},
        "confirm": {"type": "boolean"},
        "flow_labels": {"type": "array", "items": {"enum": list(FlowLabel)}, "uniqueItems": True},
        "required_scope": {"type": "string", "maxLength": 20},
        "timeout_ms": {"type": "integer", "minimum": 100, "maximum": 120_000},
        "parameters_schema": {"type": "object"},
        "argument_aliases": _TEXT_MAP_SCHEMA,
        "result_row": _TEXT_MAP_SCHEMA,
        "policy": {
            "type": "object",
            "properties": {"do": _TEXT_LIST_SCHEMA, "dont": _TEXT_LIST_SCHEMA, "edge_cases": _TEXT_LIST_SCHEMA},
            "additionalProperties": False,
        },
        "examples": {"type": "array", "items": _EXAMPLE_SCHEMA},
    },
    "required": ["op", "tool_name", "kind", "summary", "parameters_schema"],
    "additionalProperties": False,
}
_WORD_SCHEMA: dict[str, Any] = {"type": "string", "pattern": "^[a-z][a-z0-9_]*$", "maxLength": 60}
_SECTION_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("prompt", "name"), _WORD_SCHEMA),
        "title": _NAME_SCHEMA,
        "text": {"type": "string", "minLength": 1, "maxLength": 8000},
        "position": {"type": "integer", "minimum": 0, "maximum": 32_767},
        "status": {"enum": ["active", "retired"]},
    },
    "required": ["prompt", "name", "position", "title", "text"],
    "additionalProperties": False,
}
_LONG_TEXT_SCHEMA: dict[str, Any] = {"type": "string", "maxLength": 2000}
_AGENT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": _WORD_SCHEMA,
        "summary": _NAME_SCHEMA,
        **dict.fromkeys(("description", "when_to_use"), _LONG_TEXT_SCHEMA),
        **dict.fromkeys(("ops", "constraints", "examples", "edge_cases"), _TEXT_LIST_SCHEMA),
        "is_read_only": {"type": "boolean"},
        "system_prompt": {"type": "string", "minLength": 1, "maxLength": 8000},
        "status": {"enum": ["active", "retired"]},
    },
    "required": ["name", "summary", "ops", "is_read_only", "system_prompt"],
    "additionalProperties": False,
}
_WORD_OR_ANY_SCHEMA: dict[str, Any] = {"type": "string", "pattern": r"^(\*|[a-z][a-z0-9_]*)$", "maxLength": 40}
_PIN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "surface": {"enum": Pin.Surface.values},
        **dict.fromkeys(("context", "model_family"), _WORD_OR_ANY_SCHEMA),
        "ops": _TEXT_LIST_SCHEMA,
        "max_tokens": {"type": "integer", "minimum": 50, "maximum": 100_000},
    },
    "required": ["surface", "context", "model_family", "ops", "max_tokens"],
    "additionalProperties": False,
}
# Only the types: the model knows the rest.
_VOCABULARY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("kind", "meaning", "argument", "ops"), _TEXT_SCHEMA),
        "words": {"type": "array", "items": _TEXT_SCHEMA},
    },
    "required": ["kind", "meaning", "words"],
    "additionalProperties": False,
}
_SCHEMAS: dict[Kind, dict[str, Any]] = {
    Kind.GROUP: _GROUP_SCHEMA,
    Kind.OP: _OP_SCHEMA,
    Kind.SECTION: _SECTION_SCHEMA,
    Kind.AGENT: _AGENT_SCHEMA,
    Kind.PIN: _PIN_SCHEMA,
    Kind.VOCABULARY: _VOCABULARY_SCHEMA,
}


class InvalidCatalogFiles(Exception):
    """The files are invalid or would break serving; nothing was loaded. `problems` lists them with fixes."""

    def __init__(self, problems: list[Finding]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:5]))
        self.problems = problems


def read_folder(folder: Path, *, alone: bool = True) -> Snapshot:
    """Return a folder's YAML files as one snapshot (see `parse`). Raises InvalidCatalogFiles."""
    return parse_files({path.name: path.read_bytes() for path in sorted(folder.glob("*.yaml"))}, alone=alone)


def parse_files(texts: Mapping[str, bytes], *, alone: bool = True) -> Snapshot:
    """Return YAML files, {file name: bytes}, as one snapshot (see registry.snapshot.snapshot).

    Raises InvalidCatalogFiles.

    With `alone`, the files must form a complete catalog. Without it they join existing entries, so missing ones are
    not reported.
    """
    entries: dict[Kind, list[Entry]] = {kind: [] for kind in COPY_KINDS}
    problems: list[Finding] = []
    validators = {kind: SchemaValidator(schema) for kind, schema in _SCHEMAS.items()}
    for file, text in texts.items():
        document = parse_document(file, text, keys=KIND_BY_KEY)
        for kind, validator in validators.items():
            for index, entry in enumerate(document.get(COPY_KINDS[kind].key) or []):
                name = _get_entry_name(entry) or str(index)
                messages = validator.find_problems(entry)
                if kind == Kind.VOCABULARY and not messages:
                    messages = _find_problems_of_row(Vocabulary(**entry))
                problems += [FILE_INVALID.make_finding(name, file, message) for message in messages]
                entries[kind].append(entry)
    if (count := len(entries[Kind.VOCABULARY])) > MAX_VOCABULARY:
        message = f"{count:,} vocabulary entries; the limit is {MAX_VOCABULARY:,}."
        problems.append(FILE_INVALID.make_finding(VOCABULARY_KEY, "YAML", message))
    if problems:
        raise InvalidCatalogFiles(problems)
    content = snapshot.build_snapshot(
        {kind: [_normalise_entry(kind, entry) for entry in entries[kind]] for kind in COPY_KINDS}
    )
    if alone and (problems := errors.find_errors(content)):
        raise InvalidCatalogFiles(problems)
    return content


def _find_problems_of_row(row: Vocabulary) -> list[str]:
    """Return what a form would say of a row, but for other rows with its name."""
    try:
        row.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as error:
        return [f"{field}: {message}" for field, messages in error.message_dict.items() for message in messages]
    return []


def _get_entry_name(entry: Any) -> str:
    candidates = (entry.get(key) for key in ("op", "path", "name", "meaning")) if isinstance(entry, dict) else ()
    return str(next(filter(None, candidates), ""))


def parse_document(name: str, text: bytes, *, keys: Collection[str]) -> dict[str, Any]:
    """Parse one file, which may only have lists with these keys, into JSON that the database can store.

    Raises InvalidCatalogFiles.
    """
    try:
        _refuse_non_json(text)
        value = yaml.load(text, Loader=_JSONTypesLoader) or {}  # noqa: S506 - a safe loader
        document = json_text.parse(json.dumps(value, allow_nan=False).encode(), json_text.CONTENT_LIMITS)
    except (yaml.YAMLError, TypeError, ValueError, json_text.NotStrictJSON) as error:
        raise InvalidCatalogFiles([FILE_INVALID.make_finding(name, "YAML", " ".join(str(error).split()))]) from None
    lists = document.values() if isinstance(document, dict) else [None]
    if not isinstance(document, dict) or set(document) - set(keys) or not all(isinstance(each, list) for each in lists):
        message = f"A file may only contain lists named {get_text_list(list(keys), 'and')}."
        raise InvalidCatalogFiles([FILE_INVALID.make_finding(name, "YAML", message)])
    return document


class _JSONTypesLoader(yaml.CSafeLoader):
    """Load YAML values as JSON types: a date stays text."""


_JSONTypesLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _refuse_non_json(text: bytes) -> None:
    """Raise ValueError for aliases, tags and deep nesting: a short file could fill the memory or crash the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_JSONTypesLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError(f"Nested more than {MAX_DEPTH} levels deep.")
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"The alias *{event.anchor} is not allowed. Write its value out.")
        if tag := getattr(event, "tag", None):
            raise ValueError(f"The tag {tag} is not a JSON type. Remove it.")


def _normalise_entry(kind: Kind, entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry in the form that `snapshot.row_to_entry` gives, so that the two can be compared."""
    if kind == Kind.OP:
        entry = {**entry, "aliases": sorted(entry.get("aliases", []))}
        entry["examples"] = [{"args": {}, **example} for example in entry.get("examples", [])]
    elif kind in (Kind.SECTION, Kind.AGENT):
        entry = {"status": "active", **entry}
    keep = COPY_KINDS[kind].kept_fields
    return {name: value for name, value in entry.items() if name in keep or value not in ("", [], {}, None, False)}
