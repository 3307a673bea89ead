"""Publish a reviewed draft at a time. Either that draft is published or nothing: the person is notified."""

import logging
from datetime import datetime, timedelta
from functools import partial

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from audit import audit_log
from audit.models import AuditEntry
from core import logs
from core.background import leases
from core.background.poller import run_in_background
from registry.drafts import draft
from registry.models import ScheduledPublish
from registry.releases import lifecycle, publishing, stored_releases
from registry.reviews import approval as reviewed_publishing
from registry.reviews import requests
from registry.reviews.approval import ApprovalMissing

log = logging.getLogger(__name__)

LEASE = timedelta(minutes=1)
MAX_AHEAD = timedelta(days=90)

State = ScheduledPublish.State

DRAFT_CHANGED = "The draft has changed since it was scheduled. Review it again, then publish or schedule it."
LIVE_CHANGED = (
    "Another release was made live since it was scheduled, so the changes would differ. Review the draft again."
)
REFUSALS = (
    publishing.NotPublishable,
    publishing.ReasonMissing,
    publishing.LossReasonMissing,
    ApprovalMissing,
    lifecycle.AlreadyWithdrawn,
    draft.DraftChanged,
)


class NotScheduled(Exception):
    """The draft cannot be scheduled. The message says why."""


def get_waiting() -> ScheduledPublish | None:
    """Return the publish that waits for its time, or None."""
    return ScheduledPublish.objects.filter(state=State.WAITING).first()


def is_stale(waiting: ScheduledPublish) -> bool:
    """Return whether the draft or the live release has changed since, so that nothing will be published."""
    live = stored_releases.get_live_version()
    return (waiting.version, waiting.live_version) != (publishing.compute_draft_version(), live)


def get_last_failed() -> ScheduledPublish | None:
    """Return the last publish if it failed and nothing was published since, so that the page says why; else None."""
    last = ScheduledPublish.objects.order_by("-id").first()
    if last is None or last.state != State.FAILED or last.ended_at is None:
        return None
    live = stored_releases.get_live_activation_time()
    return last if live is None or live < last.ended_at else None


def schedule_publish(
    *,
    version: str,
    live_version: str,
    summary: str,
    publish_at: datetime,
    note: str,
    accepted: str,
    accepted_loss: str,
    by: str,
    at: datetime,
) -> ScheduledPublish:
    """Schedule the draft with this version. Raises NotScheduled."""
    if publish_at <= at:
        raise NotScheduled("This time has passed. Choose a later one, or publish now.")
    if publish_at > at + MAX_AHEAD:
        raise NotScheduled(f"Choose a time within {MAX_AHEAD.days} days.")
    try:
        with transaction.atomic():
            row = ScheduledPublish.objects.create(
                version=version,
                live_version=live_version,
                summary=summary[:200],
                publish_at=publish_at,
                note=note,
                accepted=accepted,
                accepted_loss=accepted_loss,
                created_by=by,
                created_at=at,
            )
            _record(row, AuditEntry.Action.ADDED, by=by, at=at, note=f"for {publish_at:%Y-%m-%d %H:%M %Z}: {note}")
    except IntegrityError:
        raise NotScheduled("A publish is already scheduled. Cancel it first.") from None
    return row


def cancel_publish(row: ScheduledPublish, *, by: str, at: datetime) -> bool:
    """Cancel a publish that waits. Return whether it was still waiting."""
    with transaction.atomic():
        waiting = ScheduledPublish.objects.filter(pk=row.pk, state=State.WAITING)
        if not waiting.update(state=State.CANCELLED, ended_at=at, ended_by=by, holder="", held_until=None):
            return False
        _record(row, AuditEntry.Action.WITHDRAWN, by=by, at=at, note="")
    return True


def publish_when_due(at: datetime) -> bool:
    """Publish the scheduled draft that is due, in the background. Returns False: only one can be due."""
    row = leases.claim(ScheduledPublish.objects.filter(state=State.WAITING, publish_at__lte=at), LEASE)
    if row is not None:
        run_in_background("scheduled publish", partial(publish_claimed, row))
    return False


def publish_claimed(row: ScheduledPublish) -> None:
    """Publish a claimed draft, or record why not. What was done before a process died is not done twice."""
    if not ScheduledPublish.objects.filter(pk=row.pk, state=State.WAITING).exists():
        return  # cancelled
    try:
        with leases.keep(row, LEASE):
            reason = _publish(row, timezone.now())
    except Exception as error:
        log.error("scheduled_publish.failed\n%s", logs.format_safely(error))
        reason = f"An error stopped it: {type(error).__name__}. The log has more. Publish it by hand."
    if stored_releases.is_live(row.version):
        reason = ""  # another process, which was taken for dead, has published it meanwhile
    _finish(row, reason, timezone.now())


def _publish(row: ScheduledPublish, at: datetime) -> str:
    """Publish the draft of a row and return "", or return why it is not published."""
    if stored_releases.is_live(row.version):
        return ""  # done before a process died, or by somebody
    if not _may_publish(row.created_by):
        return f"{row.created_by} can no longer publish. Somebody else must publish or schedule it."
    live = stored_releases.get_live_release()
    if publishing.compute_draft_version() != row.version:
        return DRAFT_CHANGED
    if row.live_version != (live.version if live else ""):
        return LIVE_CHANGED
    try:
        reviewed_publishing.publish_reviewed(
            note=row.note,
            by=row.created_by,
            at=at,
            accepted=row.accepted,
            accepted_loss=row.accepted_loss,
            seen=row.version,
        )
    except lifecycle.AlreadyLive:
        return ""
    except REFUSALS as error:
        return str(error)
    return ""


def _may_publish(name: str) -> bool:
    user = User.objects.filter(username=name, is_active=True).first()
    return user is not None and user.has_perm("registry.add_release")


def _finish(row: ScheduledPublish, reason: str, at: datetime) -> None:
    state = State.FAILED if reason else State.PUBLISHED
    try:
        with transaction.atomic():
            leases.release(row, state=state, reason=reason, ended_at=at, ended_by=row.created_by)
            if reason:
                _record(row, AuditEntry.Action.FAILED, by=row.created_by, at=at, note=reason)
            requests.notify_about_schedule(row, reason, at=at)
    except leases.LeaseLost:
        return  # cancelled, or taken over by another process
    log.info("scheduled_publish.%s version=%s", state.value, row.version[:12])


def _record(row: ScheduledPublish, action: AuditEntry.Action, *, by: str, at: datetime, note: str) -> None:
    audit_log.record_action("schedule", row.version, action, by=by, at=at, note=note)
