from gateway.contracts.errors import FieldError, InvalidRequestError


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
