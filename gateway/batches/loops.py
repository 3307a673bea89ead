"""Loops: an entry with for_each runs once for each row of an earlier answer, in order. Pure: uses no database rows.

A condition is {pointer, op, value}: `where` chooses rows, and `stop_if` looks at the envelope of each answer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from core.text import json_pointer, json_text
from gateway.batches import references
from gateway.batches.references import ResultReference, UnresolvedReference
from gateway.contracts.errors import FieldError
from gateway.contracts.request_schemas import MAX_LOOP_ROWS

FOR_EACH, WHERE, STOP_IF = "for_each", "where", "stop_if"
OWN_FIELDS = frozenset({FOR_EACH, WHERE, STOP_IF, "stop_on_error"})  # of an entry, but not of its calls
_NUMBERS, _MISSING = (int, float), object()


@dataclass(frozen=True, slots=True)
class LoopRow:
    """One row that a loop runs for: its place in the list, its value, and what identifies it among the others."""

    place: int
    value: Any
    identity: str


def is_loop(body: Mapping[str, Any]) -> bool:
    """Whether the body of an entry is that of a loop."""
    return FOR_EACH in body


def select_rows(body: Mapping[str, Any], envelopes: Mapping[int, Any]) -> tuple[list[LoopRow], int]:
    """Return the rows of a loop for which its `where` holds, and how many there are in all.

    `envelopes` maps the index of an entry to its envelope. Raises UnresolvedReference if for_each names no list, or one
    of too many rows.
    """
    reference = ResultReference.parse(body[FOR_EACH])
    if reference is None:
        raise ValueError("The reference was not validated.")
    values = references.look_up(reference, envelopes, f"/{FOR_EACH}")
    if not isinstance(values, list):
        raise _refuse("not_a_list", "for_each names a value that is not a list; name a list of an earlier answer.")
    condition = body.get(WHERE)
    chosen = [(place, value) for place, value in enumerate(values) if condition is None or holds(condition, value)]
    if len(chosen) > MAX_LOOP_ROWS:
        raise _refuse(
            "too_many_rows",
            f"for_each has {len(chosen)} rows and may have {MAX_LOOP_ROWS}; choose fewer with where, or list fewer.",
        )
    return _identify_rows(chosen), len(values)


def holds(condition: Mapping[str, Any], document: Any) -> bool:
    """Whether a condition holds for a JSON document. Values of different types are never equal, less or greater.

    `contains` looks for an item in a list, or for a text in a text whatever its case. What is missing only differs.
    """
    try:
        value = json_pointer.resolve(document, condition["pointer"])
    except LookupError:
        value = _MISSING
    expected, comparison = condition["value"], condition["op"]
    if comparison in ("eq", "ne"):
        return _is_equal(value, expected) is (comparison == "eq")
    if comparison == "contains":
        if isinstance(value, str):
            return isinstance(expected, str) and expected.casefold() in value.casefold()
        return isinstance(value, list) and any(_is_equal(each, expected) for each in value)
    if not (_are_numbers(value, expected) or (isinstance(value, str) and isinstance(expected, str))):
        return False
    return bool(value < expected if comparison == "lt" else value > expected)


def derive_row_key(batch_key: str, index: int, row: LoopRow) -> str:
    """Return the idempotency key of a row's call: two runs of one row take effect once."""
    return sha256(f"{batch_key}\x00{index}\x00{row.identity}".encode()).hexdigest()


def find_loop_errors(index: int, entry: Mapping[str, Any]) -> list[FieldError]:
    """Return what is wrong with the loop of an entry, or with parts of a loop where there is none."""
    pointer, errors = f"/ops/{index}", []
    if is_loop(entry):
        reference = ResultReference.parse(entry[FOR_EACH])
        if reference is None:
            message = f'Entry {index}: write for_each as {{"$result": "0#/result/tasks"}}, a list of an earlier entry.'
            errors.append(FieldError(f"{pointer}/{FOR_EACH}", "reference", message))
        elif reference.index >= index:
            message = f"Entry {index}: for_each refers to entry {reference.index}; refer to an earlier entry."
            errors.append(FieldError(f"{pointer}/{FOR_EACH}", "not_earlier", message))
    else:
        message = f"Entry {index}: only an entry with for_each has rows; add for_each, or remove this."
        errors += [
            FieldError(f"{pointer}/{name}", "no_loop", message) for name in (WHERE, "stop_on_error") if name in entry
        ]
    for path, item in references.find_references(entry.get("args", {}), key=references.ITEM_KEY):
        is_valid = references.is_item_reference(item)
        if is_loop(entry) and not is_valid:
            message = f"Entry {index}: write a value of the row as {references.ITEM_EXAMPLE}, with no other member."
            errors.append(FieldError(f"{pointer}/args{path}", "reference", message))
        elif is_valid and not is_loop(entry):
            message = f"Entry {index}: $item is a value of a row, and only an entry with for_each has rows."
            errors.append(FieldError(f"{pointer}/args{path}", "no_loop", message))
    return errors


def _identify_rows(chosen: Sequence[tuple[int, Any]]) -> list[LoopRow]:
    """Return rows with what identifies them: their id, else their content; rows alike are counted."""
    seen, rows = Counter[str](), []
    for place, value in chosen:
        id = value.get("id") if isinstance(value, dict) else value
        is_id = isinstance(id, str | int) and not isinstance(id, bool)
        identity = f"id {id}" if is_id else json_text.hash_canonically(value)
        seen[identity] += 1
        rows.append(LoopRow(place, value, f"{identity}\x00{seen[identity]}"))
    return rows


def _is_equal(value: Any, expected: Any) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(_is_equal, value, expected))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(_is_equal(value[name], expected[name]) for name in value)
    return bool(value == expected)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, _NUMBERS) and not isinstance(value, bool) for value in values)


def _refuse(code: str, message: str) -> UnresolvedReference:
    return UnresolvedReference([FieldError(f"/{FOR_EACH}", code, message)])
