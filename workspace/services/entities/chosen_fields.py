"""The `fields` argument of lists and updates: further fields that the answer shows of each row."""

from collections.abc import Mapping, Sequence
from typing import Any

from workspace.errors import ArgumentError, build_invalid_args

ARGUMENT = "fields"
ALL = "*"


def choose_fields(args: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """Return the names sent in `fields`; all `names` for *. Raises InvalidArgs for one that is not among them."""
    sent = args.get(ARGUMENT) or []
    if ALL in sent:
        return tuple(names)
    if errors := check_fields(args, names):
        raise build_invalid_args(errors)
    return tuple(dict.fromkeys(sent))


def check_fields(args: Mapping[str, Any], names: Sequence[str]) -> list[ArgumentError]:
    """Return an error for each name in `fields` that is neither * nor one of `names`."""
    message = f"This is no field of the answer; send {ALL} for all, or some of {', '.join(names)}."
    return [
        ArgumentError(path=f"/{ARGUMENT}/{number}", code="unknown_field", message=message)
        for number, name in enumerate(args.get(ARGUMENT) or [])
        if name != ALL and name not in names
    ]
