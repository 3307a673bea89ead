"""Which events tell of an op: in a query as conditions, of one event as functions that agree with them."""

from typing import Protocol

from django.db.models import Q

from analytics.models import OperationEvent

# Calls that were answered without trying: what they tell is about another call, a person or an admin.
PUT_OFF = ("confirmation_required", "in_progress", "switched_off")

# A name that nothing has, called or read. Which arguments an op has is another question.
UNKNOWN_OP, UNKNOWN_PATH = "unknown_op", "unknown_path"

_TRIED = Q(source=OperationEvent.Source.ADMIN)
CALL = Q(type=OperationEvent.Type.EXEC, dry_run=False, replayed=False) & ~Q(reason__in=PUT_OFF) & ~_TRIED
HELP = Q(type=OperationEvent.Type.HELP, ok=True)
SEARCH = Q(type=OperationEvent.Type.SEARCH, ok=True)
UNKNOWN_NAME = (CALL & Q(reason=UNKNOWN_OP)) | Q(type=OperationEvent.Type.HELP, reason=UNKNOWN_PATH)


class Event(Protocol):
    """What tells whether an event is a call."""

    @property
    def type(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def dry_run(self) -> bool: ...
    @property
    def replayed(self) -> bool: ...
    @property
    def reason(self) -> str: ...


def is_call(event: Event) -> bool:
    """Whether an op was called: neither rehearsed, repeated, put off nor tried by hand."""
    return (
        event.type == OperationEvent.Type.EXEC
        and not (event.dry_run or event.replayed)
        and event.reason not in PUT_OFF
        and event.source != OperationEvent.Source.ADMIN
    )


def is_unknown_name(event: Event) -> bool:
    """Whether a name was called or read that nothing has."""
    if event.type == OperationEvent.Type.HELP:
        return event.reason == UNKNOWN_PATH
    return is_call(event) and event.reason == UNKNOWN_OP
