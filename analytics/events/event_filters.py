"""Which events reports count, and as what. Reports, turns, lists in the console and links between them use this.

Each definition is a query condition. Reports that read the events of turns also need two of them as functions of one
event, which must agree with the conditions.
"""

from collections.abc import Mapping
from typing import Protocol

from django.db import models
from django.db.models import OuterRef, Q, Subquery
from django.db.models.lookups import IsNull

from analytics.events.models import UNKNOWN_OP, UNKNOWN_PATH, OperationEvent

# Reasons of calls that were deferred, not run: they wait for another call, a user's confirmation or input, or an admin.
DEFERRED_REASONS = ("confirmation_required", "input_required", "in_progress", "switched_off")

HELP_TYPES = (OperationEvent.Type.HELP, OperationEvent.Type.DISCOVER)  # what a model reads before it calls

NOT_TRIED_IN_ADMIN = ~Q(source=OperationEvent.Source.ADMIN)
# What a model did. Tests in the console and what a client loads for itself are never counted.
BY_MODEL = NOT_TRIED_IN_ADMIN & Q(purpose="")
# In each of these, what fewest events match comes first: databases evaluate conditions in order until one is false.
CALL = Q(type=OperationEvent.Type.EXEC) & BY_MODEL & Q(dry_run=False, replayed=False)
CALL &= ~Q(reason__in=DEFERRED_REASONS)
FAILED_CALL = CALL & Q(ok=False)
# A call and the one that repairs it have the same turn, and an index of turns finds the latter: `repairs` has none.
# It is a subquery, since PostgreSQL may read all events for EXISTS.
_REPAIRS = OperationEvent.objects.order_by().filter(
    turn=OuterRef("turn"), session=OuterRef("session"), repairs=OuterRef("pk")
)
_HAS_REPAIR = ~Q(session="") & Q(IsNull(Subquery(_REPAIRS.exclude(session="").values("pk")[:1]), False))
_HAS_REPAIR |= Q(session="") & Q(IsNull(Subquery(_REPAIRS.filter(session="").exclude(turn="").values("pk")[:1]), False))
REPAIRED_CALL = FAILED_CALL & _HAS_REPAIR
HELP_READ = Q(type__in=HELP_TYPES) & BY_MODEL & Q(ok=True)
SEARCH = Q(type=OperationEvent.Type.SEARCH) & BY_MODEL & Q(ok=True)
MISS = SEARCH & Q(result_count=0)
UNKNOWN_NAME = Q(reason=UNKNOWN_OP) & (CALL | Q(type=OperationEvent.Type.ESCALATE) & BY_MODEL)
UNKNOWN_NAME |= Q(reason=UNKNOWN_PATH) & Q(type__in=HELP_TYPES) & BY_MODEL


class CountedAs(models.TextChoices):
    """What reports count events as. The list of events can be filtered by these."""

    CALLS = "calls", "Calls"
    FAILED = "failed", "Failed calls"
    REPAIRED = "repaired", "Failed calls that were repaired"
    HELP_READS = "help_reads", "Help reads"
    SEARCHES = "searches", "Searches"
    MISSES = "misses", "Searches without a result"
    UNKNOWN_NAMES = "unknown_names", "Unknown names"


EVENT_CONDITIONS: Mapping[CountedAs, Q] = {
    CountedAs.CALLS: CALL,
    CountedAs.FAILED: FAILED_CALL,
    CountedAs.REPAIRED: REPAIRED_CALL,
    CountedAs.HELP_READS: HELP_READ,
    CountedAs.SEARCHES: SEARCH,
    CountedAs.MISSES: MISS,
    CountedAs.UNKNOWN_NAMES: UNKNOWN_NAME,
}
COUNTED_AS_PARAMETER = "counted_as"  # query parameter of the list of events


def build_op_query(op: str) -> dict[str, str]:
    """Return the query parameters of the list of events for the calls that reports count under an op.

    "" stands for all calls of unknown names, as in daily figures. They have no tool name, and an op may have been
    added since under the name that was sent.
    """
    return {"op__exact": op, "tool_name__gt": ""} if op else {"tool_name__exact": ""}


class CallFields(Protocol):
    """The fields that decide what an event counts as."""

    @property
    def type(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def purpose(self) -> str: ...
    @property
    def dry_run(self) -> bool: ...
    @property
    def replayed(self) -> bool: ...
    @property
    def ok(self) -> bool: ...
    @property
    def reason(self) -> str: ...


def _is_by_model(event: CallFields) -> bool:
    return event.source != OperationEvent.Source.ADMIN and not event.purpose


def is_call(event: CallFields) -> bool:
    """Return whether an event is a model's call of an op. Excludes dry runs, replays and deferred calls."""
    return (
        event.type == OperationEvent.Type.EXEC
        and _is_by_model(event)
        and not (event.dry_run or event.replayed)
        and event.reason not in DEFERRED_REASONS
    )


def is_search(event: CallFields) -> bool:
    """Return whether an event is a search that was answered."""
    return event.type == OperationEvent.Type.SEARCH and event.ok and _is_by_model(event)
