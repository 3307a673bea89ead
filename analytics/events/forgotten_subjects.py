"""Subjects that were forgotten. Events of theirs that waited on a disk at that time are not stored afterwards."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.utils.crypto import salted_hmac

from audit import audit_log
from audit.models import AuditEntry

KIND, ACTION = "subject", AuditEntry.Action.REMOVED


def record_forgotten(subject: str, *, by: str, at: datetime) -> None:
    """Record in the audit log that a subject was forgotten. The entry names it by a hash, which only we can compute."""
    audit_log.record_action(KIND, _hash_subject(subject), ACTION, by=by, at=at)


def exclude_forgotten(events: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events without those of subjects that were forgotten after the event. At most one query."""
    events = list(events)
    hashes = {subject: _hash_subject(subject) for event in events if (subject := event.get("subject"))}
    entries = AuditEntry.objects.filter(kind=KIND, action=ACTION, name__in=hashes.values()).order_by("time")
    forgotten_at = dict(entries.values_list("name", "time")) if hashes else {}
    return [
        event
        for event in events
        if not (time := forgotten_at.get(hashes.get(event.get("subject", ""), ""))) or event["time"] > time
    ]


def _hash_subject(subject: str) -> str:
    return salted_hmac("analytics.forgotten_subject", subject, algorithm="sha256").hexdigest()
