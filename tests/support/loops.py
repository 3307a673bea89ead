"""Many cases inside one test, because setting up a test takes longer than most cases."""

import inspect
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import wraps
from typing import Any

from django.db import transaction


def for_each(names: str, cases: Iterable[Any], *, undone: bool = False) -> Callable[[Callable[..., None]], Any]:
    """Run the test with each case, like `pytest.mark.parametrize`. A failure names its case.

    With `undone`, the changes of each case are rolled back. Other state of the fixtures is shared by all cases.
    """
    arguments = [name.strip() for name in names.split(",")]

    def decorate(body: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(body)

        @wraps(body)
        def test(**fixtures: Any) -> None:
            for case in cases:
                values = case if len(arguments) > 1 else (case,)
                case_values = dict(zip(arguments, values, strict=True))
                try:
                    with transaction.atomic() if undone else nullcontext():
                        body(**fixtures, **case_values)
                        if undone:
                            transaction.set_rollback(True)
                except Exception as error:
                    error.add_note(f"The case was {case_values!r}")
                    raise

        fixture_parameters = [each for name, each in signature.parameters.items() if name not in arguments]
        test.__signature__ = signature.replace(parameters=fixture_parameters)  # type: ignore[attr-defined]
        del test.__wrapped__  # type: ignore[attr-defined]
        return test

    return decorate
