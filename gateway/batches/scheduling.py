"""Parse a batch and decide which entries may run next. Pure: uses no rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway.batches import loops, references
from gateway.batches.references import ResultReference
from gateway.contracts import request_schemas
from gateway.contracts.errors import FieldError, InvalidRequestError
from gateway.contracts.validation import find_field_errors
from gateway.models import Batch, BatchEntry

MAX_ENTRIES = 50
MAX_REFERENCES = 50  # in one entry
LOST = "lost"  # state of a running entry whose lease has expired

State, Outcome = BatchEntry.State, BatchEntry.Outcome


@dataclass(frozen=True, slots=True)
class PlannedEntry:
    """One call as sent: its type, the op or path it names, its body, and the indexes of entries it depends on."""

    type: str
    name: str
    body: dict[str, Any]
    needs: list[int]


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """A batch as sent."""

    entries: list[PlannedEntry]
    mode: str
    stop_on_error: bool
    key: str | None


@dataclass(frozen=True, slots=True)
class EntryState:
    """The progress of one entry: its state or LOST, its outcome, and the indexes of entries it depends on."""

    index: int
    state: str
    outcome: str
    needs: Sequence[int]


@dataclass(frozen=True, slots=True)
class NextEntries:
    """The indexes of entries that may run now, and {index: reason} of those that never will."""

    runnable: list[int]
    to_close: dict[int, str]


def parse_batch(body: dict[str, Any], *, key: str | None = None) -> BatchPlan:
    """Parse a batch body; `key` is the Idempotency-Key header. Raises InvalidRequestError with all field errors."""
    errors = find_field_errors(request_schemas.get_batch_validator(), body)
    raw_entries = body.get("ops")
    for index, entry in enumerate(raw_entries[:MAX_ENTRIES] if isinstance(raw_entries, list) else ()):
        errors += _find_entry_errors(index, entry)
    if errors:
        raise InvalidRequestError(
            f"The batch is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors
        )
    return BatchPlan(
        entries=[_parse_entry(raw_entries) for raw_entries in body["ops"]],
        mode=body.get("mode", Batch.Mode.SEQUENTIAL),
        stop_on_error=body.get("stop_on_error", False),
        key=request_schemas.resolve_idempotency_key(body.get("idempotency_key"), key),
    )


def decide_next(entries: Sequence[EntryState], *, mode: str, stop_on_error: bool) -> NextEntries:
    """Decide from the states of all entries which may run and which to close.

    A lost entry has already started and always runs again: only another run can find out what it did.
    """
    by_index = {each.index: each for each in entries}
    lost = [each.index for each in entries if each.state == LOST]
    pending = [each for each in entries if each.state == State.PENDING]
    if stop_on_error and any(each.outcome == Outcome.FAILED for each in entries):
        return NextEntries(lost, {each.index: "skipped" for each in pending})
    to_close: dict[int, str] = {}
    for each in pending:  # an entry depends only on earlier ones
        if any(need in to_close or by_index[need].outcome in (Outcome.FAILED, Outcome.SKIPPED) for need in each.needs):
            to_close[each.index] = "dependency_failed"
    open_entries = [each for each in pending if each.index not in to_close]
    if mode == Batch.Mode.SEQUENTIAL:
        is_busy = any(each.state == State.RUNNING for each in entries)
        return NextEntries([] if is_busy else [*lost, *(each.index for each in open_entries)][:1], to_close)
    ready = [each.index for each in open_entries if all(by_index[need].state == State.DONE for need in each.needs)]
    return NextEntries([*lost, *ready], to_close)


def count_running(entries: Sequence[EntryState]) -> int:
    """Return how many entries are running."""
    return sum(each.state == State.RUNNING for each in entries)


def _parse_entry(raw_entry: dict[str, Any]) -> PlannedEntry:
    body = {name: value for name, value in raw_entry.items() if name not in ("type", "depends_on")}
    sent = [body.get("args", {}), body.get(loops.FOR_EACH)]
    parsed_references = [ResultReference.parse(each) for _, each in references.find_references(sent)]
    needs = {*raw_entry.get("depends_on", ()), *(each.index for each in parsed_references if each)}
    name = body.get("op", body.get("path", ""))
    return PlannedEntry(type=raw_entry["type"], name=name, body=body, needs=sorted(map(int, needs)))


def _find_entry_errors(index: int, raw_entry: Any) -> list[FieldError]:
    """Return the field errors of an entry of a known type. The batch schema reports a missing or unknown type."""
    kind = raw_entry.get("type") if isinstance(raw_entry, dict) else None
    if not isinstance(kind, str) or kind not in request_schemas.ENTRIES:
        return []
    pointer = f"/ops/{index}"
    errors = [
        FieldError(f"{pointer}{error.path}", error.code, f"Entry {index}: {error.message}", error.expected, error.got)
        for error in find_field_errors(request_schemas.get_entry_validator(kind), raw_entry)
    ]
    return errors or [
        *_find_dependency_errors(index, raw_entry),
        *_find_reference_errors(index, raw_entry),
        *loops.find_loop_errors(index, raw_entry),
    ]


def _find_dependency_errors(index: int, raw_entry: dict[str, Any]) -> list[FieldError]:
    message = f"Entry {index}: depends_on must name earlier entries, by index from 0."
    return [
        FieldError(f"/ops/{index}/depends_on/{number}", "not_earlier", message)
        for number, need in enumerate(raw_entry.get("depends_on", ()))
        if need >= index
    ]


def _find_reference_errors(index: int, raw_entry: dict[str, Any]) -> list[FieldError]:
    errors = []
    matches = list(references.find_references(raw_entry.get("args", {})))
    if len(matches) > MAX_REFERENCES:
        message = f"Entry {index} has more than {MAX_REFERENCES} references; refer to the whole list or object once."
        return [FieldError(f"/ops/{index}/args", "references", message)]
    for path, each in matches:
        reference = ResultReference.parse(each)
        if reference is None:
            message = f"Entry {index}: write a reference as {references.EXAMPLE}, with no other member."
            errors.append(FieldError(f"/ops/{index}/args{path}", "reference", message))
        elif reference.index >= index:
            message = f"Entry {index} refers to entry {reference.index}; refer to an earlier entry."
            errors.append(FieldError(f"/ops/{index}/args{path}", "not_earlier", message))
    return errors
