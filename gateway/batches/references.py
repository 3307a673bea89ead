"""References: {"$result": "0#/result/project/id"} inside args is a value out of an earlier entry's result.

Before the # stands the index of that entry, behind it a JSON Pointer (RFC 6901) into its envelope.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.errors import FieldError

NAME = "$result"
EXAMPLE = '{"$result": "0#/result/project/id"}'

_FORM = re.compile(r"(0|[1-9][0-9]?)#((?:/(?:[^/~]|~[01])*)*)")
_INDEX = re.compile(r"0|[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class Reference:
    """A place in the envelope of an earlier entry."""

    index: int
    pointer: str

    @classmethod
    def read(cls, sent: Any) -> "Reference | None":
        """Return what an object with the name $result refers to, None where it is malformed."""
        match = _FORM.fullmatch(sent[NAME]) if isinstance(sent[NAME], str) and len(sent) == 1 else None
        return cls(int(match[1]), match[2]) if match else None


class Missing(Exception):
    """Earlier results have nothing at some of the places that are referred to."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__(errors[0].message)
        self.errors = errors


def find(args: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each object that holds $result, with its JSON Pointer."""
    if isinstance(args, dict):
        if NAME in args:
            yield path, args
            return
        for name, value in args.items():
            yield from find(value, f"{path}/{_escaped(name)}")
    elif isinstance(args, list):
        for index, value in enumerate(args):
            yield from find(value, f"{path}/{index}")


def resolved(args: dict[str, Any], envelopes: Mapping[int, Any]) -> dict[str, Any]:
    """Return args with each reference replaced by its value. `envelopes` are those of the entries, by index.

    Raises Missing with all that is not there.
    """
    errors: list[FieldError] = []
    found: dict[str, Any] = _replaced(args, "/args", envelopes, errors)
    if errors:
        raise Missing(errors)
    return found


def _replaced(value: Any, path: str, envelopes: Mapping[int, Any], errors: list[FieldError]) -> Any:
    if isinstance(value, list):
        return [_replaced(each, f"{path}/{index}", envelopes, errors) for index, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if NAME not in value:
        return {name: _replaced(each, f"{path}/{_escaped(name)}", envelopes, errors) for name, each in value.items()}
    reference = Reference.read(value)
    if reference is None:
        raise ValueError("A reference that was not read beforehand.")
    try:
        return _at(envelopes[reference.index], reference.pointer)
    except LookupError:
        place = f"{reference.index}#{reference.pointer}"
        message = f"Entry {reference.index} has answered nothing at {reference.pointer}; look at its result."
        errors.append(FieldError(path, "result_missing", message, got=place[:100]))
        return None


def _at(value: Any, pointer: str) -> Any:
    """Return what a JSON Pointer points at. Raises LookupError."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name):
            value = value[int(name[:9])]
        else:
            raise LookupError(pointer)
    return value


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
