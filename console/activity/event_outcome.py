"""The outcome of a call at the top of its event's page: what went wrong, and what the model did next."""

from django.db.models import Q

from analytics.events import problems
from analytics.events.event_filters import NOT_TRIED_IN_ADMIN
from analytics.models import OperationEvent
from analytics.turns import trace
from console.activity.turn_trace import format_duration
from console.reports.verdicts.sentences import VerdictBox


def describe_outcome(event: OperationEvent) -> VerdictBox:
    """Return what became of an event, in a sentence or two."""
    problem = problems.describe_problem(event)
    if not problem:
        return VerdictBox(f"It succeeded in {format_duration(event.latency_ms)}.", "good")
    text = f"It failed: {problem}." if not event.ok else f"It found {problem}."
    tone = "warning" if event.ok else "bad"
    if not event.turn:
        return VerdictBox(text, tone)
    turn = OperationEvent.objects.filter(
        NOT_TRIED_IN_ADMIN, client=event.client, session=event.session, turn=event.turn
    )
    later = turn.filter(Q(time=event.time, id__gt=event.pk) | Q(time__gt=event.time)).order_by("time", "id")
    text += f" Then {_describe_what_came_next(event, list(later[:1]))}."
    is_repaired = turn.filter(repairs=event.pk).exists()
    return VerdictBox(f"{text} A later call repaired it." if is_repaired else text, "warning" if is_repaired else tone)


def _describe_what_came_next(event: OperationEvent, later: list[OperationEvent]) -> str:
    words = trace.describe_next(event, later)
    return f"the model {words}" if later else words
