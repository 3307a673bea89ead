"""Publish reviewed changes at a time. Either exactly these go live or nothing: the person is notified."""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from audit import audit_log
from audit.models import AuditEntry
from core import logs
from core.background import leases
from core.background.poller import run_in_background
from registry.drafts import draft
from registry.models import ScheduledPublish
from registry.releases import lifecycle, publishing, selection, stored_releases
from registry.releases.selection import DraftSelection
from registry.reviews import approval as reviewed_publishing
from registry.reviews import holds, requests
from registry.reviews.approval import ApprovalMissing
from registry.reviews.holds import EntriesHeld
from registry.snapshot import snapshot

log = logging.getLogger(__name__)

LEASE = timedelta(minutes=1)
MAX_AHEAD = timedelta(days=90)

State = ScheduledPublish.State

MAX_ATTEMPTS = 5  # while others make releases live

REFUSALS = (
    publishing.NotPublishable,
    publishing.ReasonMissing,
    publishing.LossReasonMissing,
    ApprovalMissing,
    EntriesHeld,
    lifecycle.AlreadyWithdrawn,
)


class NotScheduled(Exception):
    """The changes cannot be scheduled. The message says why."""


class WaitingPublish(NamedTuple):
    """A publish that waits for its time, and the names of entries that changed since, because of which it will fail."""

    row: ScheduledPublish
    changed: list[str]


def list_waiting(rows: Iterable[ScheduledPublish] | None = None) -> list[WaitingPublish]:
    """Return the publishes that wait for their time, the next one first. Pass the `rows` if they are loaded."""
    waiting = holds.list_waiting() if rows is None else rows
    return [WaitingPublish(row, holds.find_state(row).changed) for row in waiting]


def get_last_failed() -> ScheduledPublish | None:
    """Return the last publish if it failed and nothing was published since, so that the page says why; else None."""
    last = ScheduledPublish.objects.order_by("-id").first()
    if last is None or last.state != State.FAILED or last.ended_at is None:
        return None
    live = stored_releases.get_live_activation_time()
    return last if live is None or live < last.ended_at else None


def schedule_publish(
    chosen: DraftSelection,
    *,
    summary: str,
    publish_at: datetime,
    note: str,
    accepted: str,
    accepted_loss: str,
    by: str,
    at: datetime,
) -> ScheduledPublish:
    """Schedule the selected changes. Raises NotScheduled and EntriesHeld."""
    if publish_at <= at:
        raise NotScheduled("This time has passed. Choose a later one, or publish now.")
    if publish_at > at + MAX_AHEAD:
        raise NotScheduled(f"Choose a time within {MAX_AHEAD.days} days.")
    with transaction.atomic():
        stored_releases.lock_live_version()  # so that nobody schedules the same entries at the same time
        holds.check_holds(chosen)
        row = ScheduledPublish.objects.create(
            entries=chosen.hash_entries(),
            version=snapshot.compute_version(chosen.after),
            live_version=chosen.live.version if chosen.live else "",
            summary=summary[:200],
            publish_at=publish_at,
            note=note,
            accepted=accepted,
            accepted_loss=accepted_loss,
            created_by=by,
            created_at=at,
        )
        _record(row, AuditEntry.Action.ADDED, by=by, at=at, note=f"for {publish_at:%Y-%m-%d %H:%M %Z}: {note}")
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
    """Publish changes that are due, in the background. Returns False: others that are due follow at the next call."""
    row = leases.claim(ScheduledPublish.objects.filter(state=State.WAITING, publish_at__lte=at), LEASE)
    if row is not None:
        run_in_background("scheduled publish", partial(publish_claimed, row))
    return False


def publish_claimed(row: ScheduledPublish) -> None:
    """Publish claimed changes, or record why not. What was done before a process died is not done twice."""
    if not ScheduledPublish.objects.filter(pk=row.pk, state=State.WAITING).exists():
        return  # cancelled
    try:
        with leases.keep(row, LEASE):
            reason = _publish(row, timezone.now())
    except Exception as error:
        log.error("scheduled_publish.failed\n%s", logs.format_safely(error))
        reason = f"An error stopped it: {type(error).__name__}. The log has more. Publish it by hand."
    if reason and holds.find_state(row).is_live:
        reason = ""  # another process, which was taken for dead, has published them meanwhile
    _finish(row, reason, timezone.now())


def _publish(row: ScheduledPublish, at: datetime) -> str:
    """Publish the changes of a row and return "", or return why they are not published."""
    if holds.find_state(row).is_live:
        return ""  # done before a process died, or by somebody
    if not _may_publish(row.created_by):
        return f"{row.created_by} can no longer publish. Somebody else must publish or schedule it."
    for _ in range(MAX_ATTEMPTS):
        chosen = selection.load_entries(row.keys)
        if changed := holds.find_state(row, chosen).changed:
            verb = "has" if len(changed) == 1 else "have"
            what = f"{holds.join_names(changed)} {verb} changed since this was scheduled"
            return f"{what}. Review the changes again, then publish or schedule them."
        try:
            reviewed_publishing.publish_reviewed(
                note=row.note,
                by=row.created_by,
                at=at,
                accepted=row.accepted,
                accepted_loss=row.accepted_loss,
                seen=snapshot.compute_version(chosen.after),
                only=row.keys,
                own=row,
            )
        except lifecycle.AlreadyLive:
            return ""
        except (lifecycle.LiveChanged, draft.DraftChanged):
            continue  # somebody published other changes: these go into that release
        except REFUSALS as error:
            return str(error)
        return ""
    return "Others published again and again at that time. Publish the changes by hand."


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
    changes = {"entries": [None, [name for _, name, _, _ in row.entries]]}
    audit_log.record_action("schedule", row.version, action, by=by, at=at, note=note, changes=changes)
