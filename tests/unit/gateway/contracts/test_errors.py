import pytest

from gateway.contracts.errors import (
    ConflictError,
    FieldError,
    GatewayError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
)


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
