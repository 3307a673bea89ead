"""Two releases for the demo's comparison: the live copy with plainer texts of a few ops, and with clearer ones.

They were never live, so that the home page does not offer to roll back to them.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, cast

from django.contrib.auth.models import User
from django.db.models import F

from audit.models import AuditEntry
from core.text import json_text
from registry.models import Activation, Release
from registry.releases import publishing, stored_releases
from registry.snapshot.entries import OpEntry

AGE = timedelta(days=35)  # before the demo activity begins
BY = "load_demo"

# What each op lacks, by its fields. The differences fit the figures: these are the ops whose calls fail more often.
PLAINER: dict[str, dict[str, Any]] = {
    "onto.task.update": {
        "summary": "Update a task",
        "description": "Changes a task.",
        "policy": {"do": ["Send task_id and a change."], "dont": [], "edge_cases": []},
    },
    "onto.task.create": {
        "summary": "Create a task",
        "policy": {"do": ["Create tasks for work the user will do."], "dont": [], "edge_cases": []},
    },
    "cal.event.create": {"summary": "Create an event"},
    "cal.event.list": {"summary": "List events"},
}
CLEARER: dict[str, dict[str, Any]] = {
    "onto.task.update": {"summary": "Change fields of one task; send only those that change"},
    "onto.task.create": {"summary": "Create one task in a project; find its project_id first"},
    "cal.event.create": {"summary": "Create one event; start_at and end_at are date-times with a zone"},
    "cal.event.list": {"summary": "List events between two date-times with a zone"},
}


def get_or_create_releases(live: Release, at: datetime) -> tuple[Release, Release]:
    """Return the release with plainer texts than what is live now, and that with clearer ones."""
    return _get_or_create(live, PLAINER, "Plainer copy", at), _get_or_create(live, CLEARER, "Clearer copy", at)


def backdate_live_release(at: datetime) -> None:
    """Let the releases that set-up made be older than the demo activity, which the live one serves.

    All of them, the activations and the audit entries move by the same time, so that their order stays.
    """
    people = User.objects.values("username")  # what they did stays as it was
    live = Activation.objects.filter(is_live=True).first()
    if live is None or live.activated_at < at - AGE or Activation.objects.filter(activated_by__in=people).exists():
        return
    back = live.activated_at - (at - AGE)
    Activation.objects.update(activated_at=F("activated_at") - back)
    Release.objects.filter(activations__isnull=False).update(created_at=F("created_at") - back)
    AuditEntry.objects.filter(kind="release").exclude(by__in=people).update(time=F("time") - back)


def _get_or_create(live: Release, fields: Mapping[str, Mapping[str, Any]], name: str, at: datetime) -> Release:
    content = stored_releases.load_content(live)
    content["ops"] = [cast(OpEntry, {**op, **fields.get(op["op"], {})}) for op in content["ops"]]
    frozen = json_text.canonicalize(content)
    release, _ = Release.objects.get_or_create(
        version=json_text.hash_canonical_form(frozen),
        defaults={
            "content": frozen.decode(),
            "tokens": publishing.count_tokens(content),
            "op_count": len(content["ops"]),
            "created_at": at - AGE,
            "created_by": BY,
            "name": name,
        },
    )
    return release
