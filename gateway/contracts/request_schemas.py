"""Schemas of the help, exec, batch and discover bodies, and of query strings.

The first three are also the parameters of the gateway tools that a model is given.
"""

from functools import cache
from typing import Any

from analytics.experiments.cohorts.comparison import SIDE_KINDS
from analytics.reports.report_filter import DEFAULT_DAYS, PERIODS
from gateway.contracts.errors import ErrorCode, FieldError, InvalidRequestError
from gateway.contracts.user_questions import ACTIONS
from registry.jsonschema.validator import SchemaValidator

HELP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "description": "Path of a group or op; leave out or send root for the top level",
        },
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": 1000,
            "description": "Search words instead of a path: what you want to do",
        },
        "arg": {"type": "string", "minLength": 1, "description": "One argument of the op at path, in full"},
        "format": {
            "type": "string",
            "enum": ["short", "full"],
            "description": "short (default): an op's args; full: also its usage, policy and examples",
        },
        "include_examples": {"type": "boolean", "description": "true: examples in short too; false: none in full"},
        "include_schemas": {"type": "boolean", "description": "true: the JSON Schema of the args, in short too"},
        "max_tokens": {
            "type": "integer",
            "minimum": 1,
            "description": "Leave out the least useful parts to fit",
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": 200, "description": "Maximum items"},
        "cursor": {
            "type": "string",
            "minLength": 1,
            "maxLength": 400,
            "description": "next_cursor of the previous page",
        },
    },
    "additionalProperties": False,
}

MAX_RESULT_TOKENS = 100_000

EXEC: dict[str, Any] = {
    "type": "object",
    "properties": {
        "op": {"type": "string", "minLength": 1, "description": "Path of the op, from help"},
        "args": {"type": "object", "description": "Arguments, as its help lists them"},
        "idempotency_key": {
            "type": "string",
            "pattern": r"^[\x21-\x7e]{1,255}$",
            "description": "1 to 255 visible ASCII characters; a write repeated with the same key takes effect once",
        },
        "dry_run": {"type": "boolean", "description": "Return what a write would do, without doing it"},
        "fields": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 200},
            "maxItems": 50,
            "description": "Answer only these and ids, such as due_at or items.name; * for all",
        },
        "max_tokens": {
            "type": "integer",
            "minimum": 50,
            "maximum": MAX_RESULT_TOKENS,
            "description": "Remote reads: size limit",
        },
        "cursor": {
            "type": "string",
            "minLength": 1,
            "maxLength": 400,
            "description": "Remote reads: meta.next_cursor of a cut answer",
        },
    },
    "required": ["op"],
    "additionalProperties": False,
}


# What a client sends for the end user, so no model reads it.
ANSWERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "token": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Of the input_required error"},
        "action": {
            "type": "string",
            "enum": list(ACTIONS),
            "description": "accept: the end user filled in the form or opened the page; decline: they said no; "
            "cancel: they left the question",
        },
        "content": {"type": "object", "description": "What they entered, by the schema of the form"},
    },
    "required": ["token", "action"],
    "additionalProperties": False,
}

# The body of a discovery tool. A model is shown query, tool and parameter, or agent instead.
DISCOVER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "minLength": 1, "description": "A tool from the list; leave out to list the tools"},
        "parameter": {"type": "string", "minLength": 1, "description": "One of its parameters, in full"},
        "agent": {"type": "string", "minLength": 1, "description": "discover_agents only: an agent from the list"},
        "level": {"type": "string", "enum": ["full"], "description": "full: all about the tool or agent"},
        "query": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "Search words, instead of tool"},
    },
    "additionalProperties": False,
}


MAX_LOOP_ROWS = 100
COMPARISONS = ("eq", "ne", "lt", "gt", "contains")
_POINTER = {"type": "string", "pattern": r"^(/([^/~]|~[01])*)*$", "maxLength": 400}


CONDITION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pointer": {**_POINTER, "description": "JSON Pointer"},
        "op": {"type": "string", "enum": list(COMPARISONS)},
        "value": {"description": "What the value at the pointer is compared with"},
    },
    "required": ["pointer", "op", "value"],
    "additionalProperties": False,
}


_DEPENDS_ON_SCHEMA = {
    "type": "array",
    "items": {"type": "integer", "minimum": 0},
    "maxItems": 50,
    "uniqueItems": True,
    "description": "Indexes of earlier entries that must have succeeded",
}

LIST_REFERENCE: dict[str, Any] = {
    "type": "object",
    "properties": {"$result": {"type": "string"}},
    "required": ["$result"],
    "additionalProperties": False,
}

# What makes an exec entry a loop, and where it ends. A model reads of it in help on batch, not in its tool's schema.
LOOP_PROPERTIES: dict[str, Any] = {
    "for_each": {
        **LIST_REFERENCE,
        "description": f"A list in an earlier answer; the call runs for each of its rows, at most {MAX_LOOP_ROWS}",
    },
    "where": {**CONDITION, "description": "Only rows for which this holds; the pointer is one into the row"},
    "stop_if": {
        **CONDITION,
        "description": "After an answer for whose envelope this holds, no row and no entry starts",
    },
    "stop_on_error": {"type": "boolean", "description": "After a row fails, skip the rows that follow"},
}

# Schema of one batch entry, by its type.
ENTRIES: dict[str, dict[str, Any]] = {
    "help": {
        **HELP,
        "properties": {"type": {"const": "help"}, **HELP["properties"], "depends_on": _DEPENDS_ON_SCHEMA},
        "required": ["type"],
    },
    "exec": {
        **EXEC,
        "properties": {
            "type": {"const": "exec"},
            **EXEC["properties"],
            "depends_on": _DEPENDS_ON_SCHEMA,
            **LOOP_PROPERTIES,
        },
        "required": ["type", "op"],
    },
}

# Checks only what all entry types share. Each entry is then validated by the schema of its type, so that its errors
# do not mention the rules of the other type.
BATCH: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ops": {
            "type": "array",
            "minItems": 1,
            "maxItems": 50,
            "description": "The calls, each with its type",
            "items": {
                "type": "object",
                "required": ["type"],
                "properties": {"type": {"type": "string", "enum": ["help", "exec"]}},
            },
        },
        "mode": {
            "type": "string",
            "enum": ["sequential", "parallel"],
            "description": "sequential (default): one after another; parallel: at once, except dependent entries",
        },
        "stop_on_error": {"type": "boolean", "description": "After one fails, skip entries that have not started"},
        "idempotency_key": EXEC["properties"]["idempotency_key"],
    },
    "required": ["ops"],
    "additionalProperties": False,
}


# Query parameters of the lists.
LIST_QUERY: dict[str, Any] = {
    "type": "object",
    "properties": {name: HELP["properties"][name] for name in ("limit", "cursor")},
    "additionalProperties": False,
}
_TEXT_FILTER = {"type": "string", "minLength": 1, "maxLength": 200}
EVENTS_QUERY: dict[str, Any] = {
    "type": "object",
    "properties": {
        **LIST_QUERY["properties"],
        "session": {**_TEXT_FILTER, "description": "Only this conversation"},
        "turn": {**_TEXT_FILTER, "description": "Only this turn"},
        "op": {**_TEXT_FILTER, "description": "Only this op"},
        "code": {"type": "string", "enum": list(ErrorCode.values), "description": "Only failed with this code"},
    },
    "additionalProperties": False,
}

_DAY = {"type": "string", "format": "date"}
REPORT_QUERY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "days": {
            "type": "integer",
            "enum": list(PERIODS),
            "description": f"The last days in UTC, including today so far; {DEFAULT_DAYS} by default",
        },
        "from": {**_DAY, "description": "The first day in UTC, instead of days"},
        "to": {**_DAY, "description": "The last day in UTC; today by default"},
        "surface": {**_TEXT_FILTER, "description": "Only calls on this surface"},
        "cohort": {**_TEXT_FILTER, "description": "Only calls that this cohort decided; - for no cohort"},
        "release": {**_TEXT_FILTER, "description": "Only calls of this release: its version, or a number such as r12"},
        "model": {**_TEXT_FILTER, "description": "Only calls of this family of models"},
    },
    "additionalProperties": False,
}
OPS_REPORT_QUERY: dict[str, Any] = {
    **REPORT_QUERY,
    "properties": {**LIST_QUERY["properties"], **REPORT_QUERY["properties"]},
}
COMPARISON_QUERY: dict[str, Any] = {
    **REPORT_QUERY,
    "properties": {
        **REPORT_QUERY["properties"],
        "by": {"type": "string", "enum": list(SIDE_KINDS), "description": "What is compared; cohort by default"},
        "first": {
            **_TEXT_FILTER,
            "description": "A cohort (- for none), or a release: its version, or a number such as r12",
        },
        "second": {**_TEXT_FILTER, "description": "The other one. Without both, the two with most calls"},
    },
}


@cache
def get_help_validator() -> SchemaValidator:
    """Return the compiled validator of a help body."""
    return SchemaValidator(HELP)


@cache
def get_exec_validator() -> SchemaValidator:
    """Return the compiled validator of an exec body."""
    return SchemaValidator(EXEC)


@cache
def get_batch_validator() -> SchemaValidator:
    """Return the compiled validator of a batch body; it checks only the type of each entry."""
    return SchemaValidator(BATCH)


@cache
def get_answers_validator() -> SchemaValidator:
    """Return the compiled validator of an answer of an end user."""
    return SchemaValidator(ANSWERS)


@cache
def get_discover_validator() -> SchemaValidator:
    """Return the compiled validator of a discover body."""
    return SchemaValidator(DISCOVER)


@cache
def get_entry_validator(type: str) -> SchemaValidator:
    """Return the compiled validator of a batch entry of this type."""
    return SchemaValidator(ENTRIES[type])


@cache
def get_key_validator() -> SchemaValidator:
    """Return the validator of a bare idempotency key, as sent in a header."""
    return SchemaValidator(EXEC["properties"]["idempotency_key"])


def resolve_idempotency_key(in_body: str | None, in_header: str | None) -> str | None:
    """Return the idempotency key of body or header.

    Raises InvalidRequestError if the header is malformed or they differ.
    """
    if in_header is not None and not get_key_validator().is_valid(in_header):
        raise InvalidRequestError("Idempotency-Key must be 1 to 255 visible ASCII characters.", reason="bad_header")
    if in_body is not None and in_header is not None and in_body != in_header:
        raise InvalidRequestError(
            "Idempotency-Key and idempotency_key differ. Send one of them.",
            reason="idempotency_key_mismatch",
            field_errors=[FieldError("/idempotency_key", "mismatch", "Send the header's key, or leave it out.")],
        )
    return in_body if in_body is not None else in_header
