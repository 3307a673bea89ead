import pytest

from core.handler_contract import (
    ArgumentError,
    Forbidden,
    InvalidArgs,
    NotFound,
    OpRefusal,
    StateConflict,
    build_invalid_args,
)


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [(NotFound, "not_found"), (Forbidden, "forbidden"), (StateConflict, "conflict"), (InvalidArgs, "invalid_args")],
)
def test_refusal_has_its_default_reason(refusal: type[OpRefusal], reason: str) -> None:
    assert refusal("No.").reason == reason
    assert refusal("No.", reason="other").reason == "other"
    assert refusal("No.").message == "No."
    assert refusal("No.").field_errors == []
    assert refusal("No.").details == {}
    assert refusal("No.", details={"seen": 1}).details == {"seen": 1}


def test_invalid_shows_the_first_error_and_counts_the_rest() -> None:
    errors = [ArgumentError(path=f"/{n}", code="blank", message=f"{n} is blank.") for n in ("a", "b", "c")]

    assert build_invalid_args(errors[:1]).message == "a is blank."
    assert build_invalid_args(errors).message == "a is blank. (2 more in field_errors.)"
    assert build_invalid_args(errors).field_errors == errors
