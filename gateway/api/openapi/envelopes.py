"""Components of all envelopes: success, error and meta."""

from typing import Any

from gateway.api.openapi.schema_parts import OBJECT, TEXT, TEXTS, build_array, build_enum, build_object, build_ref
from gateway.contracts.errors import ErrorCode

COMPONENTS: dict[str, Any] = {
    "Meta": build_object(
        {"trace_id": TEXT, "latency_ms": {"type": "number"}, "warnings": TEXTS},
        {
            "dry_run": {"type": "boolean"},
            "replayed": {"type": "boolean"},
            "original_trace_id": TEXT,
            "applied_defaults": OBJECT,
            "executed_op": TEXT,
            "operation": build_ref("Operation"),
            "next_cursor": TEXT,
        },
        additionalProperties=True,
    ),
    "Operation": build_object(
        {"entity": TEXT, "action": TEXT},
        {"entity_id": TEXT, "entity_name": TEXT},
        description="What a call reads or writes.",
    ),
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
            "error": build_ref("ErrorBody"),
            "meta": build_ref("Meta"),
        }
    ),
    "ErrorBody": build_object(
        {"code": build_ref("ErrorCode"), "message": TEXT, "details": build_ref("ErrorDetails"), "help_path": TEXT}
    ),
    "ErrorCode": build_enum(ErrorCode.values),
    "ErrorDetails": build_object(
        {"field_errors": build_array(build_ref("FieldError")), "reason": TEXT, "retryable": {"type": "boolean"}},
        {"retry_with": OBJECT, "did_you_mean": TEXTS},
        additionalProperties=True,
        description="All field errors, the case within the code, and what helps to correct the call.",
    ),
}
