"""Retention of events, turns, figures and subjects: how many days each is kept."""

from datetime import datetime, timedelta

from django.conf import settings

from analytics.alerts.models import Alert
from analytics.events import stored_contents
from analytics.events.models import EventLoss, OperationEvent
from analytics.rollout.models import Subject
from analytics.rollups.models import OpDaily, SubjectFigures
from analytics.turns.models import Feedback, ToolSelection, Turn
from core.background import retention
from core.background.retention import Expiring, Retention


def _get_event_age() -> timedelta:
    return timedelta(days=settings.GATEWAY_EVENT_DAYS)


def _get_figure_age() -> timedelta:
    return timedelta(days=settings.GATEWAY_FIGURES_DAYS)


delete_events = Retention(
    "Delete operation events older than GATEWAY_EVENT_DAYS.",
    Expiring(OperationEvent.objects.all(), "time", _get_event_age),
)
delete_turns = Retention(
    "Delete turns, their tool selections, their feedback and figures of subjects older than GATEWAY_EVENT_DAYS.",
    Expiring(Turn.objects.all(), "time", _get_event_age),
    Expiring(ToolSelection.objects.all(), "time", _get_event_age),
    Expiring(Feedback.objects.all(), "time", _get_event_age),
    Expiring(SubjectFigures.objects.all(), "begin", _get_event_age),
)
delete_figures = Retention(
    "Delete daily figures, alerts that closed and counts of lost events older than GATEWAY_FIGURES_DAYS.",
    Expiring(OpDaily.objects.all(), "day", _get_figure_age),
    Expiring(Alert.objects.exclude(closed_at=None), "closed_at", _get_figure_age),
    Expiring(EventLoss.objects.all(), "time", _get_figure_age),
)
delete_subjects = Retention(
    "Delete subjects last seen more than GATEWAY_EVENT_DAYS ago.",
    Expiring(Subject.objects.all(), "seen_at", _get_event_age),
)


def delete_contents(at: datetime) -> bool:
    """Blank the args and results of events older than the days chosen in *Stored contents*."""
    past = OperationEvent.objects.filter(time__lt=at - timedelta(days=stored_contents.get_rules().days))
    with_content = past.filter(content__isnull=False).order_by("time")
    ids = list(with_content.values_list("pk", flat=True)[: retention.BATCH_SIZE])
    OperationEvent.objects.filter(pk__in=ids).update(content=None)
    return len(ids) == retention.BATCH_SIZE
