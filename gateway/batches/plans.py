"""Parse a batch and decide which entries may run next. Pure: uses no rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway import bodies
from gateway.batches import references
from gateway.batches.references import Reference
from gateway.errors import FieldError, Invalid
from gateway.models import Batch, BatchEntry
from gateway.validation import field_errors

MOST_ENTRIES = 50
MOST_REFERENCES = 50  # in one entry
LOST = "lost"  # state of a running entry whose lease has expired

State, Outcome = BatchEntry.State, BatchEntry.Outcome


@dataclass(frozen=True, slots=True)
class Entry:
    """One call as sent: its type, the op or path it names, its body, and the indexes of entries it depends on."""

    type: str
    name: str
    body: dict[str, Any]
    needs: list[int]


@dataclass(frozen=True, slots=True)
class Plan:
    """A batch as sent."""

    entries: list[Entry]
    mode: str
    stop_on_error: bool
    key: str | None


@dataclass(frozen=True, slots=True)
class Standing:
    """The progress of one entry: its state or LOST, its outcome, and the indexes of entries it depends on."""

    index: int
    state: str
    outcome: str
    needs: Sequence[int]


@dataclass(frozen=True, slots=True)
class Next:
    """The indexes of entries that may run now, and {index: reason} of those that never will."""

    runnable: list[int]
    closed: dict[int, str]


def read(body: dict[str, Any], *, key: str | None = None) -> Plan:
    """Parse a batch body; `key` is the Idempotency-Key header. Raises Invalid with all field errors."""
    errors = field_errors(bodies.batch_validator(), bodies.BATCH, body)
    sent = body.get("ops")
    for index, entry in enumerate(sent[:MOST_ENTRIES] if isinstance(sent, list) else ()):
        errors += _entry_errors(index, entry)
    if errors:
        raise Invalid(f"The batch is malformed. {errors[0].message}", reason="malformed_call", field_errors=errors)
    return Plan(
        entries=[_entry(sent) for sent in body["ops"]],
        mode=body.get("mode", Batch.Mode.SEQUENTIAL),
        stop_on_error=body.get("stop_on_error", False),
        key=bodies.idempotency_key(body.get("idempotency_key"), key),
    )


def what_next(standings: Sequence[Standing], *, mode: str, stop_on_error: bool) -> Next:
    """Decide from the states of all entries which may run and which to close.

    A lost entry has already started and always runs again: only another run can find out what it did.
    """
    by_index = {each.index: each for each in standings}
    lost = [each.index for each in standings if each.state == LOST]
    pending = [each for each in standings if each.state == State.PENDING]
    if stop_on_error and any(each.outcome == Outcome.FAILED for each in standings):
        return Next(lost, {each.index: "skipped" for each in pending})
    closed: dict[int, str] = {}
    for each in pending:  # an entry depends only on earlier ones
        if any(need in closed or by_index[need].outcome in (Outcome.FAILED, Outcome.SKIPPED) for need in each.needs):
            closed[each.index] = "dependency_failed"
    open_ = [each for each in pending if each.index not in closed]
    if mode == Batch.Mode.SEQUENTIAL:
        is_busy = any(each.state == State.RUNNING for each in standings)
        return Next([] if is_busy else [*lost, *(each.index for each in open_)][:1], closed)
    ready = [each.index for each in open_ if all(by_index[need].state == State.DONE for need in each.needs)]
    return Next([*lost, *ready], closed)


def at_work(standings: Sequence[Standing]) -> int:
    """Return how many entries are running."""
    return sum(each.state == State.RUNNING for each in standings)


def _entry(sent: dict[str, Any]) -> Entry:
    body = {name: value for name, value in sent.items() if name not in ("type", "depends_on")}
    used = [Reference.read(each) for _, each in references.find(body.get("args", {}))]
    needs = {*sent.get("depends_on", ()), *(each.index for each in used if each)}
    name = body.get("op", body.get("path", ""))
    return Entry(type=sent["type"], name=name, body=body, needs=sorted(map(int, needs)))


def _entry_errors(index: int, sent: Any) -> list[FieldError]:
    """Return the field errors of an entry of a known type. The batch schema reports a missing or unknown type."""
    kind = sent.get("type") if isinstance(sent, dict) else None
    schema = bodies.ENTRIES.get(kind) if isinstance(kind, str) else None
    if schema is None:
        return []
    place = f"/ops/{index}"
    errors = [
        FieldError(f"{place}{error.path}", error.code, f"Entry {index}: {error.message}", error.expected, error.got)
        for error in field_errors(bodies.entry_validator(kind), schema, sent)
    ]
    return errors or [*_dependency_errors(index, sent), *_reference_errors(index, sent)]


def _dependency_errors(index: int, sent: dict[str, Any]) -> list[FieldError]:
    message = f"Entry {index}: depends_on must name earlier entries, by index from 0."
    return [
        FieldError(f"/ops/{index}/depends_on/{number}", "not_earlier", message)
        for number, need in enumerate(sent.get("depends_on", ()))
        if need >= index
    ]


def _reference_errors(index: int, sent: dict[str, Any]) -> list[FieldError]:
    errors = []
    found = list(references.find(sent.get("args", {})))
    if len(found) > MOST_REFERENCES:
        message = f"Entry {index} has more than {MOST_REFERENCES} references; refer to the whole list or object once."
        return [FieldError(f"/ops/{index}/args", "references", message)]
    for path, each in found:
        reference = Reference.read(each)
        if reference is None:
            message = f"Entry {index}: write a reference as {references.EXAMPLE}, with no other member."
            errors.append(FieldError(f"/ops/{index}/args{path}", "reference", message))
        elif reference.index >= index:
            message = f"Entry {index} refers to entry {reference.index}; refer to an earlier entry."
            errors.append(FieldError(f"/ops/{index}/args{path}", "not_earlier", message))
    return errors
