"""The release history: a timeline of what was live when, with what can be done about it."""

from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.timesince import timesince

from console.log_pages import ActorFilter
from core.admin import base
from core.text import display
from registry.models import Activation
from registry.releases import stored_releases, timeline
from registry.reviews import scheduling


class ActivatorFilter(ActorFilter):
    title, parameter_name = "made live by", "activated_by"


@admin.register(Activation)
class ActivationAdmin(base.ReadOnlyMixin, base.ModelAdmin[Activation]):
    empty = "No release has been live yet. Review the draft and publish it."
    list_before_template = "console/releases/live_periods.html"
    list_display = ["activated_at", "release_name", "live_for", "activator", "shown_note", "compare"]
    list_display_links = ["activated_at"]
    list_filter = [ActivatorFilter]
    search_fields = ["release__version", "release__name", "note", "lost_because", "activated_by"]
    date_hierarchy = "activated_at"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Activation]:
        live = Activation.objects.filter(release=OuterRef("release"), is_live=True)
        rows = timeline.query_activations().annotate(is_release_live=Exists(live))
        shown: QuerySet[Activation] = rows.select_related("release").defer(*stored_releases.LARGE_COLUMNS)
        return shown

    def get_list_display(self, request: HttpRequest) -> Any:
        """Return the columns, with the one for rolling back if the user may."""
        may_publish = request.user.has_perm("registry.add_release")
        columns = super().get_list_display(request)
        return [*columns, "make_live"] if may_publish else columns

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the last days as a chart above the list."""
        at = timezone.now()
        since = timeline.find_start(at)
        context = {
            "since": since,
            "lanes": timeline.build_lanes(since, at=at),
            "schedules": scheduling.list_waiting(),
            "now": at,
        }
        return super().changelist_view(request, context | (extra_context or {}))

    @admin.display(description="Release", ordering="release__number")
    def release_name(self, activation: Activation) -> str:
        release = activation.release
        url = reverse("admin:registry_release_change", args=[release.pk])
        link = format_html('<a href="{}">{}</a>', url, release.short_name)
        tag = ""
        if activation.is_live:
            tag = format_html(' <span class="ui-tag ui-tag--live">{}</span>', "live")
        elif release.withdrawn_at:
            tag = format_html(' <span class="ui-tag ui-tag--withdrawn">{}</span>', "withdrawn")
        return format_html("{}{}", link, tag)

    @admin.display(description="Live for")
    def live_for(self, activation: Any) -> str:
        start, end = activation.activated_at, activation.until or timezone.now()
        duration = timesince(start, end) if end - start >= timedelta(minutes=1) else "less than a minute"
        return duration if activation.until else f"{duration}, until now"

    @admin.display(description="Activated by", ordering="activated_by")
    def activator(self, activation: Activation) -> str:
        return display.describe_actor(activation.activated_by)

    @admin.display(description="Note", ordering="note")
    def shown_note(self, activation: Activation) -> str:
        if not activation.lost_because:
            return activation.note
        lost = f"Lost eval cases, accepted because: {activation.lost_because}"
        return format_html("{}<br>{}", activation.note, lost)

    @admin.display(description="What changed")
    def compare(self, activation: Any) -> str:
        if not activation.before or activation.before == activation.release_id:
            return "–"
        url = reverse("admin:registry_release_compare")
        query = f"{url}?before={activation.before}&after={activation.release_id}"
        return format_html('<a href="{}">Compare with previous</a>', query)

    @admin.display(description="Actions")
    def make_live(self, activation: Any) -> str:
        if activation.is_release_live or activation.release.withdrawn_at:
            return "–"
        url = reverse("admin:registry_release_make_live", args=[activation.release_id])
        return format_html('<a href="{}">Make live</a>', url)
