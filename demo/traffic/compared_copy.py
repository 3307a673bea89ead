"""An earlier release of the copy for the demo's comparison: the live one with plainer texts of a few ops.

It was never live, so that the home page does not offer to roll back to it.
"""

from datetime import datetime, timedelta
from typing import Any, cast

from core.text import json_text
from registry.models import Release
from registry.releases import publishing, stored_releases
from registry.snapshot.entries import OpEntry

AGE = timedelta(days=35)  # before the demo activity begins
BY = "load_demo"

# What each op lacked, by its fields. The differences fit the figures: these are the ops that fail less often now.
EARLIER_FIELDS: dict[str, dict[str, Any]] = {
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


def get_or_create_release(live: Release, at: datetime) -> Release:
    """Return the earlier release of what is live now."""
    content = stored_releases.load_content(live)
    content["ops"] = [cast(OpEntry, {**op, **EARLIER_FIELDS.get(op["op"], {})}) for op in content["ops"]]
    frozen = json_text.canonicalize(content)
    release, _ = Release.objects.get_or_create(
        version=json_text.hash_canonical_form(frozen),
        defaults={
            "content": frozen.decode(),
            "tokens": publishing.count_tokens(content),
            "op_count": len(content["ops"]),
            "created_at": at - AGE,
            "created_by": BY,
            "name": "Plainer copy",
        },
    )
    return release
