"""The alert of tool misses: it notifies people once when too many turns call a tool that they were not given.

The audit log has when it opened and closed. The check reads the latest entry, so a restart does not notify again.
"""

import logging
from datetime import datetime

from django.db import transaction
from django.urls import reverse

from analytics.reports import selection
from analytics.reports.selection import RecentMisses
from audit import audit_log
from audit.models import AuditEntry
from notifications import outbox
from notifications.outbox import OutgoingMessage
from notifications.recipients import find_emails

log = logging.getLogger(__name__)

KIND, NAME = "alert", "tool misses"  # in the audit log
BY = "miss alert"
EVENT = "tool_misses.opened"  # of the webhook


def check_misses(at: datetime) -> bool:
    """Notify the users who can change cohorts, once, when too many turns of the last 24 hours miss a tool."""
    misses = selection.compute_recent_misses(at)
    if misses.is_alarming and not _is_open():
        _open_alert(misses, at=at)
    elif misses.has_recovered and _is_open():
        _record(misses, is_open=False, at=at)
    return False


def _is_open() -> bool:
    latest = AuditEntry.objects.filter(kind=KIND, name=NAME).order_by("-id").first()
    return latest is not None and bool(latest.changes["is_open"][1])


@transaction.atomic
def _open_alert(misses: RecentMisses, *, at: datetime) -> None:
    _record(misses, is_open=True, at=at)
    subject = "Too many turns miss a tool"
    message = OutgoingMessage(EVENT, subject, misses.summary, reverse("admin:report_selection"), BY)
    outbox.notify(message, recipients=find_emails("analytics.change_cohort"), at=at)
    log.warning("tool_misses.opened rate=%.3f turns=%d", misses.rate, misses.turns)


def _record(misses: RecentMisses, *, is_open: bool, at: datetime) -> None:
    states = {"is_open": not is_open}, {"is_open": is_open}
    audit_log.record_change(KIND, NAME, *states, by=BY, at=at, note=misses.summary)
