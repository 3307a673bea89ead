"""Save the filters of a page under a name, and delete them. A view is its owner's; others see it if it is shared."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from analytics.reports.models import SavedView
from audit import audit_log

MAX_VIEWS = 50  # of a person on a page
MAX_NAME_LENGTH = 60
MAX_QUERY_LENGTH = 2_000


class ViewRefused(Exception):
    """A view that cannot be saved. The message says what to do instead."""


def list_views(user: Any, page: str) -> QuerySet[SavedView]:
    """Return a person's own views of a page and those that others share, by name."""
    return SavedView.objects.filter(Q(owner=user) | Q(is_shared=True), page=page).select_related("owner")


def save_view(*, name: str, page: str, query: str, owner: Any, is_shared: bool, at: datetime) -> SavedView:
    """Save a view, in place of the owner's view of this name if there is one. Raises ViewRefused."""
    name = " ".join(name.split())
    if not name:
        raise ViewRefused("Enter a name for the view.")
    if len(name) > MAX_NAME_LENGTH:
        raise ViewRefused(f"The name has {len(name)} characters; the limit is {MAX_NAME_LENGTH}. Shorten it.")
    if len(query) > MAX_QUERY_LENGTH:
        raise ViewRefused("These filters are too long to be saved. Remove some of them.")
    with transaction.atomic():
        before = SavedView.objects.select_for_update().filter(page=page, owner=owner, name=name).first()
        if before is None and SavedView.objects.filter(page=page, owner=owner).count() >= MAX_VIEWS:
            raise ViewRefused(f"You have {MAX_VIEWS} views of this page, which is the limit. Delete one first.")
        view, _created = SavedView.objects.update_or_create(
            page=page, owner=owner, name=name, defaults={"query": query, "is_shared": is_shared, "saved_at": at}
        )
        values = list_audit_values(before) if before else None
        audit_log.record_change("view", name, values, list_audit_values(view), by=str(owner), at=at)
    return view


@transaction.atomic
def delete_view(view: SavedView, *, by: str, at: datetime) -> None:
    """Delete a view."""
    audit_log.record_change("view", view.name, list_audit_values(view), None, by=by, at=at)
    view.delete()


def list_audit_values(view: SavedView) -> dict[str, Any] | None:
    """Return what the audit log has of a view: nothing unless it is shared. A private one is its owner's business."""
    return {"page": view.page, "query": view.query} if view.is_shared else None
