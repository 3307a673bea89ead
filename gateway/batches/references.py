"""References: {"$result": "0#/result/project/id"} inside args stands for a value from an earlier entry's result.

Before the # is the index of that entry, after it a JSON Pointer (RFC 6901) into its envelope.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.errors import FieldError

NAME = "$result"
EXAMPLE = '{"$result": "0#/result/project/id"}'

_FORM = re.compile(r"(0|[1-9][0-9]?)#((?:/(?:[^/~]|~[01])*)*)")
_INDEX = re.compile(r"0|[1-9][0-9]*")


@dataclass(frozen=True, slots=True)
class Reference:
    """A JSON Pointer into the envelope of an earlier entry."""

    index: int
    pointer: str

    @classmethod
    def read(cls, sent: Any) -> "Reference | None":
        """Parse an object that has the member $result; None if it is malformed."""
        match = _FORM.fullmatch(sent[NAME]) if isinstance(sent[NAME], str) and len(sent) == 1 else None
        return cls(int(match[1]), match[2]) if match else None


class Missing(Exception):
    """Some references point to nothing in earlier results, or the values are too large."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__(errors[0].message)
        self.errors = errors


def find(args: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (JSON Pointer, object) of each object that has the member $result."""
    if isinstance(args, dict):
        if NAME in args:
            yield path, args
            return
        for name, value in args.items():
            yield from find(value, f"{path}/{_escaped(name)}")
    elif isinstance(args, list):
        for index, value in enumerate(args):
            yield from find(value, f"{path}/{index}")


def resolved(args: dict[str, Any], envelopes: Mapping[int, Any], *, most_bytes: int) -> dict[str, Any]:
    """Return args with each reference replaced by its value; `envelopes` maps the index of an entry to its envelope.

    Raises Missing with all missing values, and if the values together exceed `most_bytes`.
    """
    filling = _Filling(envelopes, most_bytes)
    found: dict[str, Any] = filling.replaced(args, "/args")
    if filling.errors:
        raise Missing(filling.errors)
    return found


class _Filling:
    """Replaces the references in the args of one entry."""

    def __init__(self, envelopes: Mapping[int, Any], most_bytes: int) -> None:
        self.errors: list[FieldError] = []
        self._envelopes = envelopes
        self._bytes_left = most_bytes

    def replaced(self, value: Any, path: str) -> Any:
        if isinstance(value, list):
            return [self.replaced(each, f"{path}/{index}") for index, each in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if NAME not in value:
            return {name: self.replaced(each, f"{path}/{_escaped(name)}") for name, each in value.items()}
        reference = Reference.read(value)
        if reference is None:
            raise ValueError("The reference was not validated.")
        return self._value(reference, path)

    def _value(self, reference: Reference, path: str) -> Any:
        index, pointer = reference.index, reference.pointer
        try:
            found = _at(self._envelopes[index], pointer)
        except LookupError:
            message = f"The answer of entry {index} has nothing at {pointer[:100]}; look at its result."
            self.errors.append(FieldError(path, "result_missing", message))
            return None
        # Count a result each time it is referred to: every copy is serialised, validated and stored.
        self._bytes_left -= len(orjson.dumps(found))
        if self._bytes_left < 0:
            message = f"The referenced values are too large together; refer to parts of the result of entry {index}."
            self.errors.append(FieldError(path, "result_too_large", message))
            return None
        return found


def _at(value: Any, pointer: str) -> Any:
    """Return the value at a JSON Pointer. Raises LookupError if there is none."""
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
