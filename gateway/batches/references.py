"""References: {"$result": "0#/result/project/id"} inside args stands for a value from an earlier entry's result.

Before the # is the index of that entry, after it a JSON Pointer (RFC 6901) into its envelope.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.text import json_pointer, json_text
from gateway.contracts.errors import FieldError

REFERENCE_KEY = "$result"
EXAMPLE = '{"$result": "0#/result/project/id"}'

_FORM = re.compile(r"(0|[1-9][0-9]?)#((?:/(?:[^/~]|~[01])*)*)")


@dataclass(frozen=True, slots=True)
class ResultReference:
    """A JSON Pointer into the envelope of an earlier entry."""

    index: int
    pointer: str

    @classmethod
    def parse(cls, raw_reference: Any) -> "ResultReference | None":
        """Parse an object that has the member $result; None if it is malformed."""
        match = (
            _FORM.fullmatch(raw_reference[REFERENCE_KEY])
            if isinstance(raw_reference[REFERENCE_KEY], str) and len(raw_reference) == 1
            else None
        )
        return cls(int(match[1]), match[2]) if match else None


class UnresolvedReference(Exception):
    """Some references point to nothing in earlier results, or the values are too large."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__(errors[0].message)
        self.errors = errors


def find_references(args: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (JSON Pointer, object) of each object that has the member $result."""
    if isinstance(args, dict):
        if REFERENCE_KEY in args:
            yield path, args
            return
        for name, value in args.items():
            yield from find_references(value, f"{path}/{json_pointer.escape(name)}")
    elif isinstance(args, list):
        for index, value in enumerate(args):
            yield from find_references(value, f"{path}/{index}")


def resolve_references(args: dict[str, Any], envelopes: Mapping[int, Any], *, most_bytes: int) -> dict[str, Any]:
    """Return args with each reference replaced by its value; `envelopes` maps the index of an entry to its envelope.

    Raises UnresolvedReference with all missing values, and if the values together exceed `most_bytes`.
    """
    resolver = _ReferenceResolver(envelopes, most_bytes)
    result: dict[str, Any] = resolver.replace(args, "/args")
    if resolver.errors:
        raise UnresolvedReference(resolver.errors)
    return result


class _ReferenceResolver:
    """Replaces the references in the args of one entry."""

    def __init__(self, envelopes: Mapping[int, Any], most_bytes: int) -> None:
        self.errors: list[FieldError] = []
        self._envelopes = envelopes
        self._bytes_left = most_bytes

    def replace(self, value: Any, path: str) -> Any:
        if isinstance(value, list):
            return [self.replace(each, f"{path}/{index}") for index, each in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if REFERENCE_KEY not in value:
            return {name: self.replace(each, f"{path}/{json_pointer.escape(name)}") for name, each in value.items()}
        reference = ResultReference.parse(value)
        if reference is None:
            raise ValueError("The reference was not validated.")
        return self._look_up_value(reference, path)

    def _look_up_value(self, reference: ResultReference, path: str) -> Any:
        index, pointer = reference.index, reference.pointer
        try:
            value = json_pointer.resolve(self._envelopes[index], pointer)
        except LookupError:
            message = f"The answer of entry {index} has nothing at {pointer[:100]}; look at its result."
            self.errors.append(FieldError(path, "result_missing", message))
            return None
        # Count a result each time it is referred to: every copy is serialised, validated and stored.
        self._bytes_left -= len(json_text.dump(value))
        if self._bytes_left < 0:
            message = f"The referenced values are too large together; refer to parts of the result of entry {index}."
            self.errors.append(FieldError(path, "result_too_large", message))
            return None
        return value
