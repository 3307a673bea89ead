"""Sample ops for unit tests without a database."""

from datetime import UTC, datetime
from typing import Any

from core.database.deadlines import Deadline
from gateway.access.key_verification import VerifiedKey
from gateway.executors.base import UpstreamCall
from gateway.models import Scope
from registry.catalog.model import FULL_VISIBILITY, CatalogOp
from registry.vocabulary import CatalogVocabulary
from tests.support.rows.op_entries import build_catalog

TASK_ID = "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b01"
PROJECT_ID = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01"

ARGUMENTS: dict[str, Any] = {
    "task_id": {"type": "string", "format": "uuid"},
    "project_id": {"type": "string", "format": "uuid"},
    "title": {"type": "string", "minLength": 1, "maxLength": 30},
    "description": {"type": ["string", "null"]},
    "state_key": {"type": "string", "enum": ["todo", "in_progress", "done"], "x-aliases": {"completed": "done"}},
    "priority": {"type": "integer", "minimum": 1, "maximum": 5, "x-aliases": {"high": 1, "low": 5}},
    "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "urgent": {"type": "boolean"},
    "limit": {"type": "integer", "default": 20},
    "due_at": {"type": "string", "format": "date-time"},
    "starts": {"type": "string", "format": "iso-date-time"},
    "when": {"type": "string", "format": "iso-date-or-date-time"},
    "day": {"type": ["string", "null"], "format": "date"},
    "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3, "uniqueItems": True},
    "states": {
        "type": "array",
        "items": {"type": "string", "enum": ["todo", "in_progress", "done"], "x-aliases": {"completed": "done"}},
    },
    "levels": {"type": "array", "items": {"type": "integer", "enum": [1, 2, 3], "x-aliases": {"high": 1}}},
    "props": {"type": "object"},
    "size": {"$ref": "#/$defs/size"},
    "update_strategy": {"type": "string", "enum": ["replace", "append"], "x-option": True},
    "fields": {"type": "array", "items": {"type": "string"}, "x-option": True},
    "place": {
        "type": "object",
        "additionalProperties": False,
        "required": ["room"],
        "properties": {
            "room": {"type": "string", "pattern": "^[A-Z][0-9]+$", "description": "A letter and a number: B12."},
            "floor": {"type": "integer", "default": 1, "x-aliases": {"ground": 0}},
            "owner_id": {"type": "string"},
        },
    },
    "steps": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "state_key": {"type": "string", "enum": ["todo", "done"], "x-aliases": {"completed": "done"}},
                "hours": {"type": "integer", "default": 2},
            },
        },
    },
}

VOCABULARY = CatalogVocabulary.build(
    [
        {"kind": "argument", "meaning": "state_key", "words": ["state", "status"]},
        {"kind": "entity", "meaning": "task", "words": ["todo", "ticket"]},
    ]
)


def build_op(*required: str, **fields: Any) -> CatalogOp:
    """Return an op that updates a task, with arguments of every kind. Fields of CatalogOp are passed by name."""
    schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": ARGUMENTS,
        "required": list(required),
        "$defs": {
            "size": {
                "type": "string",
                "enum": ["small", "large"],
                "x-refused": {"medium": "There is no middle; send small or large."},
            }
        },
    }
    values: dict[str, Any] = {
        "op": "onto.task.update",
        "tool_name": "update_onto_task",
        "kind": "write",
        "entity": "task",
        "action": "update",
        "summary": "Change a task",
        "schema": schema,
        "argument_aliases": {"name": "title", "id": "task_id"},
        "display_only": frozenset({"task_title"}),
        "vocabulary": VOCABULARY,
    }
    return CatalogOp(**(values | fields))


def build_upstream_call(op: CatalogOp, **fields: Any) -> UpstreamCall:
    """Return a call of an op as an executor gets it."""
    values: dict[str, Any] = {"catalog": build_catalog(), "visibility": FULL_VISIBILITY, "args": {}, "subject": "ana"}
    values |= {"at": datetime(2026, 3, 1, tzinfo=UTC), "deadline": Deadline.after(milliseconds=10_000)}
    return UpstreamCall(op=op, **values | fields)


def build_verified_key(**fields: Any) -> VerifiedKey:
    """Return a key of the client chat that may do everything, unless fields say otherwise."""
    values: dict[str, Any] = {"id": 1, "prefix": "gw_00000000", "client_id": 1, "client": "chat", "confirms": False}
    values |= {"scopes": frozenset(Scope.values), "bound_subject": "", "subject_pattern": "*", "rate": 50}
    values |= {"visibility": FULL_VISIBILITY, "expires_at": None, "stamp": (None, None)}
    return VerifiedKey(**values | fields)
