"""Redirects from addresses that pages had in earlier versions. Bookmarks and links in e-mails keep working."""

from django.urls import URLPattern, re_path
from django.views.generic import RedirectView

# Lists whose models moved to another app: Django builds their addresses from the app's name.
MOVED_LISTS = {
    "analytics/auditentry": "audit/auditentry",
    "analytics/notification": "notifications/notification",
}

urlpatterns: list[URLPattern] = [
    re_path(
        rf"^{old}/(?P<rest>.*)$",
        RedirectView.as_view(url=f"/admin/{new}/%(rest)s", permanent=True, query_string=True),
        name=f"moved_{old.replace('/', '_')}",
    )
    for old, new in MOVED_LISTS.items()
]
