from core.handler_contract import (
    ArgumentError,
    build_invalid_args,
)


def test_invalid_shows_the_first_error_and_counts_the_rest() -> None:
    errors = [ArgumentError(path=f"/{n}", code="blank", message=f"{n} is blank.") for n in ("a", "b", "c")]

    assert build_invalid_args(errors[:1]).message == "a is blank."
    assert build_invalid_args(errors).message == "a is blank. (2 more in field_errors.)"
    assert build_invalid_args(errors).field_errors == errors
