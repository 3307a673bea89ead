"""Components of all envelopes: success, error and meta."""

from typing import Any

from gateway.api.openapi.schema_parts import OBJECT, TEXT, TEXTS, build_object, build_ref
from gateway.contracts.errors import ErrorCode

ERROR_BODY = build_object(
    {
        "code": {"enum": list(ErrorCode.values)},
        "message": TEXT,
        "details": {
            "type": "object",
            "properties": {
                "field_errors": {"type": "array", "items": build_ref("FieldError")},
                "reason": TEXT,
                "retryable": {"type": "boolean"},
                "retry_with": OBJECT,
                "did_you_mean": TEXTS,
                "schema": OBJECT,
            },
            "required": ["field_errors", "reason", "retryable"],
        },
        "help_path": TEXT,
    }
)

COMPONENTS: dict[str, Any] = {
    "Meta": {
        **build_object(
            {"trace_id": TEXT, "latency_ms": {"type": "number"}, "warnings": TEXTS},
            {
                "dry_run": {"type": "boolean"},
                "replayed": {"type": "boolean"},
                "original_trace_id": TEXT,
                "applied_defaults": OBJECT,
                "executed_op": TEXT,
                "operation": build_object({"entity": TEXT, "action": TEXT}, {"entity_id": TEXT, "entity_name": TEXT}),
            },
        ),
        "additionalProperties": True,
    },
    "FieldError": build_object(
        {"path": TEXT, "code": TEXT, "message": TEXT},
        {"expected": {}, "got": TEXT},
        description="What is wrong with one value: where (JSON Pointer), which rule, and what to send instead.",
    ),
    "Success": build_object({"op": TEXT, "ok": {"const": True}, "result": OBJECT, "meta": build_ref("Meta")}),
    "Error": build_object(
        {
            "op": {"type": ["string", "null"]},
            "ok": {"const": False},
            "error": ERROR_BODY,
            "meta": build_ref("Meta"),
        }
    ),
}
