"""Many cases inside one test: setting up a test costs more than most cases do."""

import inspect
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import wraps
from typing import Any

from django.db import transaction


def for_each(names: str, cases: Iterable[Any], *, undone: bool = False) -> Callable[[Callable[..., None]], Any]:
    """Run a test's body with each case, as `pytest.mark.parametrize` names them; a failure says which case it was.

    With `undone` each case works on the rows as the fixtures left them. A case must not rely on a fixture being fresh.
    """
    arguments = [name.strip() for name in names.split(",")]

    def looping(body: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(body)

        @wraps(body)
        def test(**fixtures: Any) -> None:
            for case in cases:
                values = case if len(arguments) > 1 else (case,)
                given = dict(zip(arguments, values, strict=True))
                try:
                    with transaction.atomic() if undone else nullcontext():
                        body(**fixtures, **given)
                        if undone:
                            transaction.set_rollback(True)
                except Exception as error:
                    error.add_note(f"The case was {given!r}")
                    raise

        left = [each for name, each in signature.parameters.items() if name not in arguments]
        test.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        del test.__wrapped__  # type: ignore[attr-defined]
        return test

    return looping
