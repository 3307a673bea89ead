"""Retention jobs: delete expired rows, oldest first, 1,000 at a time. Each returns whether more may be left."""

import logging
from datetime import datetime, timedelta
from typing import Any

from allauth.usersessions.models import UserSession
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import Model, QuerySet
from oauth2_provider.models import clear_expired

from analytics.events.models import OperationEvent
from analytics.rollout.models import Subject
from analytics.rollups.models import OpDaily
from analytics.turns.models import ToolSelection, Turn
from core.sign_in.throttle import KNOWN_ADDRESS_AGE
from gateway.models import Batch, IdempotencyRecord, SignIn, StoredFile, UsedConfirmation

log = logging.getLogger(__name__)

CONFIRMATIONS_KEPT = timedelta(hours=1)  # tokens are valid for five minutes
USER_SIGN_INS_KEPT = timedelta(hours=1)  # their states are valid for ten minutes
BATCH_SIZE = 1_000  # rows; takes some tens of milliseconds


def delete_idempotency_records(at: datetime) -> bool:
    """Delete expired records, except those whose outcome is unknown."""
    done_records = IdempotencyRecord.objects.filter(expires_at__lte=at, state=IdempotencyRecord.State.DONE)
    return _delete_expired(done_records, oldest="expires_at")


def delete_used_confirmations(at: datetime) -> bool:
    """Delete used confirmations whose tokens have expired long ago."""
    return _delete_expired(UsedConfirmation.objects.filter(used_at__lt=at - CONFIRMATIONS_KEPT), oldest="used_at")


def delete_batches(at: datetime) -> bool:
    """Delete expired batches with their results."""
    return _delete_expired(Batch.objects.filter(expires_at__lte=at), oldest="expires_at")


def delete_sessions(at: datetime) -> bool:
    """Delete expired sessions, and what is shown of them to their users."""
    more = _delete_expired(Session.objects.filter(expire_date__lte=at), oldest="expire_date")
    over = UserSession.objects.filter(created_at__lt=at - timedelta(seconds=settings.SESSION_COOKIE_AGE))
    over = over.exclude(session_key__in=Session.objects.values("session_key"))
    return _delete_expired(over, oldest="created_at") or more


def delete_sign_ins(at: datetime) -> bool:
    """Delete failed sign-ins that no longer lock anything, and sign-ins from addresses that are no longer known."""
    failures = AccessAttempt.objects.filter(attempt_time__lt=at - settings.AXES_COOLOFF_TIME)
    more = _delete_expired(failures, oldest="attempt_time")
    sign_ins = AccessLog.objects.filter(attempt_time__lt=at - KNOWN_ADDRESS_AGE)
    return _delete_expired(sign_ins, oldest="attempt_time") or more


def delete_user_sign_ins(at: datetime) -> bool:
    """Delete sign-ins of end users whose states have expired long ago."""
    return _delete_expired(SignIn.objects.filter(created_at__lt=at - USER_SIGN_INS_KEPT), oldest="created_at")


def delete_oauth_tokens(_: datetime) -> bool:
    """Delete expired access tokens, refresh tokens and authorization codes. Returns False: it deletes all of them."""
    clear_expired()
    return False


def delete_stored_files(at: datetime) -> bool:
    """Delete expired files."""
    return _delete_expired(StoredFile.objects.filter(expires_at__lte=at), oldest="expires_at")


def delete_figures(at: datetime) -> bool:
    """Delete daily figures older than GATEWAY_FIGURES_DAYS."""
    first = (at - timedelta(days=settings.GATEWAY_FIGURES_DAYS)).date()
    return _delete_expired(OpDaily.objects.filter(day__lt=first), oldest="day")


def delete_events(at: datetime) -> bool:
    """Delete operation events older than GATEWAY_EVENT_DAYS."""
    return _delete_expired(OperationEvent.objects.filter(time__lt=_get_event_cutoff(at)), oldest="time")


def delete_turns(at: datetime) -> bool:
    """Delete turns and tool selections older than GATEWAY_EVENT_DAYS."""
    more = _delete_expired(Turn.objects.filter(time__lt=_get_event_cutoff(at)), oldest="time")
    return _delete_expired(ToolSelection.objects.filter(time__lt=_get_event_cutoff(at)), oldest="time") or more


def delete_subjects(at: datetime) -> bool:
    """Delete subjects last seen more than GATEWAY_EVENT_DAYS ago."""
    return _delete_expired(Subject.objects.filter(seen_at__lt=_get_event_cutoff(at)), oldest="seen_at")


def delete_contents(at: datetime) -> bool:
    """Blank the args and results of events older than GATEWAY_CONTENT_DAYS."""
    past = OperationEvent.objects.filter(time__lt=at - timedelta(days=settings.GATEWAY_CONTENT_DAYS))
    ids = list(past.filter(content__isnull=False).order_by("time").values_list("pk", flat=True)[:BATCH_SIZE])
    OperationEvent.objects.filter(pk__in=ids).update(content=None)
    return len(ids) == BATCH_SIZE


def _get_event_cutoff(at: datetime) -> datetime:
    return at - timedelta(days=settings.GATEWAY_EVENT_DAYS)


def _delete_expired(expired: QuerySet[Any], *, oldest: str) -> bool:
    model: type[Model] = expired.model
    ids = list(expired.order_by(oldest).values_list("pk", flat=True)[:BATCH_SIZE])
    # Filter again: an expired idempotency key may have been claimed again since.
    deleted = expired.filter(pk__in=ids).delete()[0] if ids else 0
    if deleted:
        log.info("retention.deleted rows=%d model=%s", deleted, model._meta.label)
    return len(ids) == BATCH_SIZE
