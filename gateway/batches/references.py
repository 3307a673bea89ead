"""References: values inside args that stand for something from the answers of the batch.

{"$result": "0#/result/project/id"} is a value from an earlier entry: before the # is its index, after it a JSON Pointer
(RFC 6901) into its envelope. {"$item": "/id"} is a value from the row that a loop is at; "" is the whole row.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from core.text import json_pointer, json_text
from gateway.contracts.errors import FieldError

REFERENCE_KEY = "$result"
EXAMPLE = '{"$result": "0#/result/project/id"}'
ITEM_KEY = "$item"
ITEM_EXAMPLE = '{"$item": "/id"}'
NO_ITEM: Any = object()  # in place of a row, where the args are not those of a loop
MAX_NAMED = 10  # members that an error names

_POINTER = r"(?:/(?:[^/~]|~[01])*)*"
_FORM = re.compile(rf"(0|[1-9][0-9]?)#({_POINTER})")
_ITEM_FORM = re.compile(_POINTER)


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
    """Some references point to nothing in earlier results or in a row, or the values are too large."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__(errors[0].message)
        self.errors = errors


def is_item_reference(value: Mapping[str, Any]) -> bool:
    """Whether an object that has the member $item is well-formed."""
    return len(value) == 1 and isinstance(value[ITEM_KEY], str) and bool(_ITEM_FORM.fullmatch(value[ITEM_KEY]))


def find_references(args: Any, path: str = "", *, key: str = REFERENCE_KEY) -> Iterator[tuple[str, Any]]:
    """Yield (JSON Pointer, object) of each object that has the member `key`."""
    if isinstance(args, dict):
        if key in args:
            yield path, args
            return
        for name, value in args.items():
            yield from find_references(value, f"{path}/{json_pointer.escape(name)}", key=key)
    elif isinstance(args, list):
        for index, value in enumerate(args):
            yield from find_references(value, f"{path}/{index}", key=key)


def resolve_references(
    args: dict[str, Any], envelopes: Mapping[int, Any], *, most_bytes: int, item: Any = NO_ITEM
) -> dict[str, Any]:
    """Return args with each reference replaced by its value.

    `envelopes` maps the index of an entry to its envelope; `item` is the row of a loop. Values that are filled in are
    not read for further references. Raises UnresolvedReference with all missing values, and if the values together
    exceed `most_bytes`.
    """
    resolver = _ReferenceResolver(envelopes, item, most_bytes)
    result: dict[str, Any] = resolver.replace(args, "/args")
    if resolver.errors:
        raise UnresolvedReference(resolver.errors)
    return result


def look_up(reference: ResultReference, envelopes: Mapping[int, Any], path: str) -> Any:
    """Return the value of a reference. Raises UnresolvedReference, for the field at `path`."""
    resolver = _ReferenceResolver(envelopes, NO_ITEM, inf)
    value = resolver.look_up_result(reference, path)
    if resolver.errors:
        raise UnresolvedReference(resolver.errors)
    return value


class _ReferenceResolver:
    """Replaces the references in the args of one entry."""

    def __init__(self, envelopes: Mapping[int, Any], item: Any, most_bytes: float) -> None:
        self.errors: list[FieldError] = []
        self._envelopes = envelopes
        self._item = item
        self._bytes_left = most_bytes

    def replace(self, value: Any, path: str) -> Any:
        if isinstance(value, list):
            return [self.replace(each, f"{path}/{index}") for index, each in enumerate(value)]
        if not isinstance(value, dict):
            return value
        if self._item is not NO_ITEM and ITEM_KEY in value:
            return self._find(self._item, value[ITEM_KEY], path, "The row")
        if REFERENCE_KEY not in value:
            return {name: self.replace(each, f"{path}/{json_pointer.escape(name)}") for name, each in value.items()}
        reference = ResultReference.parse(value)
        if reference is None:
            raise ValueError("The reference was not validated.")
        return self.look_up_result(reference, path)

    def look_up_result(self, reference: ResultReference, path: str) -> Any:
        owner = f"The answer of entry {reference.index}"
        if reference.index not in self._envelopes:
            self.errors.append(FieldError(path, "result_missing", f"{owner} is not there."))
            return None
        return self._find(self._envelopes[reference.index], reference.pointer, path, owner)

    def _find(self, document: Any, pointer: str, path: str, owner: str) -> Any:
        try:
            value = json_pointer.resolve(document, pointer)
        except LookupError:
            message = f"{owner} has nothing at {pointer[:100]}; {_describe_nearest(document, pointer)}"
            self.errors.append(FieldError(path, "result_missing", message))
            return None
        # Count a result each time it is referred to: every copy is serialised, validated and stored.
        self._bytes_left -= len(json_text.dump(value))
        if self._bytes_left < 0:
            message = f"The referenced values are too large together; refer to parts of {owner.lower()}."
            self.errors.append(FieldError(path, "result_too_large", message))
            return None
        return value


def _describe_nearest(document: Any, pointer: str) -> str:
    """Return what there is at the last part of a pointer that exists."""
    value, reached = document, ""
    for name in json_pointer.split(pointer):
        try:
            value = json_pointer.resolve(value, step := f"/{json_pointer.escape(name)}")
        except LookupError:
            break
        reached += step
    place = f"{reached[:100]} has" if reached else "it has"
    if isinstance(value, dict) and value:
        names = ", ".join(str(name)[:40] for name in list(value)[:MAX_NAMED])
        return f"{place} {names}{' and more' if len(value) > MAX_NAMED else ''}."
    if isinstance(value, list):
        return f"{place} a list of {len(value)}." if value else f"{place} an empty list."
    return "look at its result."
