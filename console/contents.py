"""Who may see stored args and results on a page, and what a page says where there are none."""

from datetime import datetime, timedelta

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from analytics.events import stored_contents
from analytics.events.stored_contents import StoredContents


def may_see(request: HttpRequest) -> bool:
    """Return whether the user may see stored args, results and words of searches."""
    if not request.user.has_perm("analytics.view_operationevent"):
        return False
    return not stored_contents.get_rules().is_for_managers or request.user.has_perm("analytics.change_storedcontents")


def explain_missing(request: HttpRequest, time: datetime | None = None) -> SafeString:
    """Return why there are no contents to show, with the link to the page that changes it. `time` is that of a call."""
    rules = stored_contents.get_rules()
    if rules.days and not may_see(request):
        return format_html("Only {} may see args, results and words of searches.", StoredContents.SeenBy.MANAGERS.label)
    why = f"Not stored, or older than {rules.days} days." if rules.days else "They are not kept."
    if rules.days and time is not None:
        is_new = timezone.now() - time < timedelta(days=rules.days)
        why = "Not stored for this call." if is_new else f"Kept for {rules.days} days only."
    return format_html("{} {}", why, link_page(request))


def link_page(request: HttpRequest) -> SafeString:
    """Return the link to the page, for users who can open it."""
    if not request.user.has_perm("analytics.view_storedcontents"):
        return SafeString("")
    return format_html(
        '<a href="{}">Stored contents</a>', reverse("admin:analytics_storedcontents_change", args=[StoredContents.PK])
    )
