"""Which events count as calls, help reads, searches or unknown names.

Defined twice: as query conditions, and as functions of one event that must agree with them.
"""

from typing import Protocol

from django.db.models import Q

from analytics.events.models import OperationEvent

# Reasons of calls that were deferred, not run: they wait for another call, a user's confirmation or an admin.
DEFERRED_REASONS = ("confirmation_required", "in_progress", "switched_off")

# Reasons for a call or a help read of an unknown op or path. Unknown arguments of an op are something else.
UNKNOWN_OP, UNKNOWN_PATH = "unknown_op", "unknown_path"

_FROM_ADMIN = Q(source=OperationEvent.Source.ADMIN)
CALL = Q(type=OperationEvent.Type.EXEC, dry_run=False, replayed=False) & ~Q(reason__in=DEFERRED_REASONS) & ~_FROM_ADMIN
HELP = Q(type=OperationEvent.Type.HELP, ok=True)
SEARCH = Q(type=OperationEvent.Type.SEARCH, ok=True)
UNKNOWN_NAME = (CALL & Q(reason=UNKNOWN_OP)) | Q(type=OperationEvent.Type.HELP, reason=UNKNOWN_PATH)


class CallFields(Protocol):
    """The fields that decide whether an event is a call."""

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


def is_call(event: CallFields) -> bool:
    """Return whether an event is a call of an op. Excludes dry runs, replays, deferred calls and tries in the admin."""
    return (
        event.type == OperationEvent.Type.EXEC
        and not (event.dry_run or event.replayed)
        and event.reason not in DEFERRED_REASONS
        and event.source != OperationEvent.Source.ADMIN
    )


def is_unknown_name(event: CallFields) -> bool:
    """Return whether an event is a call or a help read of an unknown name."""
    if event.type == OperationEvent.Type.HELP:
        return event.reason == UNKNOWN_PATH
    return is_call(event) and event.reason == UNKNOWN_OP
