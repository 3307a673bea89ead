import pytest

from gateway.contracts import errors
from gateway.contracts.envelopes import Trace, build_failure, build_meta, build_success
from gateway.contracts.errors import (
    ConflictError,
    ErrorCode,
    FieldError,
    GatewayError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
)


def test_there_are_five_error_codes() -> None:
    assert ErrorCode.values == ["VALIDATION_ERROR", "PERMISSION_DENIED", "NOT_FOUND", "CONFLICT", "INTERNAL"]


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (InvalidRequestError, "VALIDATION_ERROR", 400),
        (PermissionDeniedError, "PERMISSION_DENIED", 403),
        (NotFoundError, "NOT_FOUND", 404),
        (ConflictError, "CONFLICT", 409),
        (InternalError, "INTERNAL", 500),
    ],
)
def test_error_has_its_code_and_status(error: type[GatewayError], code: str, status: int) -> None:
    instance = error("What is wrong. What to send instead.")

    assert (instance.code, instance.status, instance.retryable) == (code, status, False)
    assert instance.as_dict() == {
        "code": code,
        "message": "What is wrong. What to send instead.",
        "details": {"field_errors": [], "reason": instance.reason, "retryable": False},
        "help_path": "root",
    }


def test_error_dict_has_all_details() -> None:
    instance = InvalidRequestError(
        "Wrong.",
        reason="invalid_args",
        retryable=True,
        field_errors=[FieldError("/a", "type", "a must be text."), FieldError("/b", "enum", "x", "y", "z")],
        help_path="onto.task",
        retry_with={"op": "x", "args": {}},
        details={"did_you_mean": ["y"]},
    )

    assert instance.as_dict()["details"] == {
        "field_errors": [
            {"path": "/a", "code": "type", "message": "a must be text."},
            {"path": "/b", "code": "enum", "message": "x", "expected": "y", "got": "z"},
        ],
        "reason": "invalid_args",
        "retryable": True,
        "did_you_mean": ["y"],
        "retry_with": {"op": "x", "args": {}},
    }
    assert instance.as_dict()["help_path"] == "onto.task"


def test_errors_share_no_state() -> None:
    first = InvalidRequestError("One.")
    first.details["x"], first.headers["X"] = 1, "1"

    assert InvalidRequestError("Two.").details == InvalidRequestError("Two.").headers == {}


def test_error_builders_set_status_and_headers() -> None:
    assert (errors.build_unavailable_error().status, errors.build_unavailable_error().headers) == (
        503,
        {"Retry-After": "1"},
    )
    assert errors.build_unsupported_media_type_error().status == 415
    assert errors.build_too_large_error(7).status == 413
    assert "7 bytes" in str(errors.build_too_large_error(7))


def test_envelopes_have_one_shape() -> None:
    trace = Trace("tr_1")

    success = build_success("onto.task.get", {"task": {}}, build_meta(trace))
    failure = build_failure(None, NotFoundError("Nothing there."), build_meta(trace, ["careful"]))

    assert list(success) == ["op", "ok", "result", "meta"]
    assert list(failure) == ["op", "ok", "error", "meta"]
    assert (success["ok"], failure["ok"], failure["op"]) == (True, False, None)
    assert failure["meta"]["warnings"] == ["careful"]


def test_meta_omits_empty_values() -> None:
    meta = build_meta(
        Trace("tr_1"), None, dry_run=False, replayed=True, applied_defaults={}, operation={"entity": "task"}
    )

    assert set(meta) == {"trace_id", "latency_ms", "warnings", "replayed", "operation"}
