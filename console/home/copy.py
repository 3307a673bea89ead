"""The draft and the live release on the home page."""

from typing import Any

from django.db.models import Exists, OuterRef
from django.http import HttpRequest

from console import diff_view
from console.home.links import NamedLink, map_op_urls
from registry.models import Activation, Release
from registry.releases import stored_releases, unpublished
from registry.reviews import requests, scheduling
from registry.snapshot.copy_kinds import Kind

MAX_NAMED_OPS = 5


def build_unpublished(request: HttpRequest) -> dict[str, Any]:
    """Return how many entries of copy differ from the live release, and the first of their ops."""
    names = unpublished.find_unpublished_names()
    total = sum(map(len, names.values()))
    first = sorted(names[Kind.OP])[:MAX_NAMED_OPS]
    pages = map_op_urls(first)
    scheduled = scheduling.get_waiting()
    return {
        "change_counts": diff_view.format_counts({kind: len(changed) for kind, changed in names.items()}),
        "total": total,
        "first": [NamedLink(op, pages.get(op, "")) for op in first],
        "more": total - len(first) if first else 0,
        "scheduled": scheduled,
        "is_schedule_stale": scheduled is not None and scheduling.is_stale(scheduled),
        "failed_schedule": None if scheduled else scheduling.get_last_failed(),
        "review": requests.describe_open_review(
            user=str(request.user), may_decide=request.user.has_perm("registry.add_release")
        ),
    }


def build_live_release(_: HttpRequest) -> dict[str, Any]:
    """Return the current activation and the release to roll back to, if there is one.

    `is_again` on the activation: this release was live earlier too, so going to the previous one is not a rollback.
    """
    earlier = Activation.objects.filter(release=OuterRef("release"), is_live=False)
    rows = Activation.objects.filter(is_live=True).select_related("release").defer(*stored_releases.LARGE_COLUMNS)
    activation = rows.annotate(is_again=Exists(earlier)).first()
    try:
        before: Release | None = stored_releases.get_previous_release()
    except stored_releases.UnknownRelease:
        before = None
    return {"activation": activation, "before": before}
