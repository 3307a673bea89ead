"""What a log line tells of an exception."""

import pytest
from django.db import IntegrityError

from core import safe_traceback

SECRET = "canary-1f0c-in-a-message"


def caught(raises: object) -> BaseException:
    with pytest.raises(Exception) as found:  # noqa: PT011 - whatever is raised
        raises()  # type: ignore[operator]
    return found.value


def chained() -> None:
    try:
        {}[SECRET]
    except KeyError as error:
        raise ValueError(SECRET) from error


def beside() -> None:
    try:
        int(SECRET)
    except ValueError:
        raise RuntimeError(SECRET)  # noqa: B904 - without a cause, as code of others does


def instead() -> None:
    try:
        int(SECRET)
    except ValueError:
        raise RuntimeError(SECRET) from None


@pytest.mark.parametrize(
    ("raises", "types"),
    [
        (chained, ["builtins.KeyError", "builtins.ValueError"]),
        (beside, ["builtins.ValueError", "builtins.RuntimeError"]),
        (instead, ["builtins.RuntimeError"]),
    ],
)
def test_told_names_types_and_places_in_the_order_they_happened(raises: object, types: list[str]) -> None:
    text = safe_traceback.format(caught(raises))

    assert [line for line in text.splitlines() if line.startswith("builtins.")] == types
    assert f"in {raises.__name__}" in text  # type: ignore[attr-defined]
    assert "test_safe_traceback.py" in text
    assert SECRET not in text


def test_told_of_a_database_error_is_its_state_and_constraint() -> None:
    class Diagnosis:
        constraint_name = "task_title_once"

    error = IntegrityError(f"Key (title)=({SECRET}) already exists.")
    error.sqlstate, error.diag = "23505", Diagnosis()  # type: ignore[attr-defined]

    assert safe_traceback.format(error) == "django.db.utils.IntegrityError (23505 task_title_once)"


def test_told_ends_where_a_chain_is_a_loop() -> None:
    one, other = ValueError(SECRET), KeyError(SECRET)
    one.__cause__, other.__cause__ = other, one

    assert len(safe_traceback.format(one).splitlines()) < 25
