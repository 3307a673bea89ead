"""Jobs that delete what has expired, oldest first, a thousand rows at a time."""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Model, QuerySet

from analytics.models import OpDaily, OperationEvent, Subject, ToolSelection, Turn
from gateway.models import Batch, IdempotencyRecord

log = logging.getLogger(__name__)

BATCH = 1_000  # rows; some tens of milliseconds


def idempotency_records(at: datetime) -> bool:
    """Delete records past their time, but none whose outcome is not known. Returns whether more may be left."""
    done = IdempotencyRecord.objects.filter(expires_at__lte=at, state=IdempotencyRecord.State.DONE)
    return _delete(done, oldest="expires_at")


def batches(at: datetime) -> bool:
    """Delete batches past their time, with their results. Returns whether more may be left."""
    return _delete(Batch.objects.filter(expires_at__lte=at), oldest="expires_at")


def sessions(at: datetime) -> bool:
    """Delete the admin's sessions that are past their time. Returns whether more may be left."""
    return _delete(Session.objects.filter(expire_date__lte=at), oldest="expire_date")


def figures(at: datetime) -> bool:
    """Delete daily figures past their time. Returns whether more may be left."""
    first = (at - timedelta(days=settings.GATEWAY_FIGURES_DAYS)).date()
    return _delete(OpDaily.objects.filter(day__lt=first), oldest="day")


def events(at: datetime) -> bool:
    """Delete operation events past their time. Returns whether more may be left."""
    return _delete(OperationEvent.objects.filter(time__lt=_kept_since(at)), oldest="time")


def turns(at: datetime) -> bool:
    """Delete turns, and what was told of them, past their time. Returns whether more may be left."""
    more = _delete(Turn.objects.filter(time__lt=_kept_since(at)), oldest="time")
    return _delete(ToolSelection.objects.filter(time__lt=_kept_since(at)), oldest="time") or more


def subjects(at: datetime) -> bool:
    """Delete subjects who were not seen for as long as events are kept. Returns whether more may be left."""
    return _delete(Subject.objects.filter(seen_at__lt=_kept_since(at)), oldest="seen_at")


def contents(at: datetime) -> bool:
    """Blank the args and results of events past their time. Returns whether more may be left."""
    past = OperationEvent.objects.filter(time__lt=at - timedelta(days=settings.GATEWAY_CONTENT_DAYS))
    ids = list(past.filter(content__isnull=False).order_by("time").values_list("pk", flat=True)[:BATCH])
    OperationEvent.objects.filter(pk__in=ids).update(content=None)
    return len(ids) == BATCH


def _kept_since(at: datetime) -> datetime:
    return at - timedelta(days=settings.GATEWAY_EVENT_DAYS)


def _delete(expired: QuerySet[Any], *, oldest: str) -> bool:
    model: type[Model] = expired.model
    ids = list(expired.order_by(oldest).values_list("pk", flat=True)[:BATCH])
    # Asked again: a key past its time may have been claimed anew since.
    deleted = expired.filter(pk__in=ids).delete()[0] if ids else 0
    if deleted:
        log.info("deleted %d expired rows of %s", deleted, model._meta.label)
    return len(ids) == BATCH
