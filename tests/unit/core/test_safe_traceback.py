"""The safe traceback of an exception in a log line."""

import pytest
from django.db import IntegrityError

from core import logs

SECRET = "canary-1f0c-in-a-message"


def catch(raise_error: object) -> BaseException:
    with pytest.raises(Exception) as error:  # noqa: PT011 - any exception
        raise_error()  # type: ignore[operator]
    return error.value


def raise_from() -> None:
    try:
        {}[SECRET]
    except KeyError as error:
        raise ValueError(SECRET) from error


def raise_while_handling() -> None:
    try:
        int(SECRET)
    except ValueError:
        raise RuntimeError(SECRET)  # noqa: B904 - without a cause, like third-party code


def raise_from_none() -> None:
    try:
        int(SECRET)
    except ValueError:
        raise RuntimeError(SECRET) from None


@pytest.mark.parametrize(
    ("raise_error", "types"),
    [
        (raise_from, ["builtins.KeyError", "builtins.ValueError"]),
        (raise_while_handling, ["builtins.ValueError", "builtins.RuntimeError"]),
        (raise_from_none, ["builtins.RuntimeError"]),
    ],
)
def test_format_names_types_and_places_in_order(raise_error: object, types: list[str]) -> None:
    text = logs.format_safely(catch(raise_error))

    assert [line for line in text.splitlines() if line.startswith("builtins.")] == types
    assert f"in {raise_error.__name__}" in text  # type: ignore[attr-defined]
    assert "test_safe_traceback.py" in text
    assert SECRET not in text


def test_format_of_a_database_error_has_its_state_and_constraint() -> None:
    class Diagnostics:
        constraint_name = "task_title_once"

    error = IntegrityError(f"Key (title)=({SECRET}) already exists.")
    error.sqlstate, error.diag = "23505", Diagnostics()  # type: ignore[attr-defined]

    assert logs.format_safely(error) == "django.db.utils.IntegrityError (23505 task_title_once)"


def test_format_ends_when_causes_form_a_loop() -> None:
    first, second = ValueError(SECRET), KeyError(SECRET)
    first.__cause__, second.__cause__ = second, first

    assert len(logs.format_safely(first).splitlines()) < 25
