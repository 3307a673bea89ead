"""The admin of releases and of the release history."""

from typing import Any

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.timesince import timesince

from core import desk
from registry import releases
from registry.admin import showing
from registry.admin.comparing import Comparing
from registry.admin.reading import Reading
from registry.admin.review import Reviewing
from registry.admin.steps import STEPS
from registry.models import Activation, Release

TIMELINE = 10  # activations shown above the list


@admin.register(Release)
class ReleaseAdmin(desk.ReadOnly, Reviewing, Comparing, Reading):
    empty = "No releases yet. Review the draft and publish it."
    list_display = ["__str__", "state", "note", "op_count", "created_at", "created_by"]
    list_before_template = "registry/timeline.html"
    change_form_template = "registry/release.html"
    fieldsets = [
        (None, {"fields": ["version", ("state", "note"), ("created_at", "created_by"), "op_count"]}),
        ("Accepted warnings", {"fields": ["accepted_because", "warnings"]}),
        ("Withdrawn", {"fields": [("withdrawn_at", "withdrawn_by"), "withdrawn_reason"]}),
    ]
    readonly_fields = ["state", "note", "warnings"]
    search_fields = ["version", "created_by", "withdrawn_reason"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Release]:
        activations = Activation.objects.filter(release=OuterRef("pk"))
        said = activations.order_by("-activated_at", "-id").values("note")[:1]
        found = Release.objects.defer("content", "tokens", "accepted_warnings")
        return found.annotate(is_live=Exists(activations.filter(is_live=True)), last_note=Subquery(said))

    def get_fieldsets(self, request: HttpRequest, obj: Release | None = None) -> Any:
        """Return the fieldsets that apply to this release."""
        found = list(super().get_fieldsets(request, obj))
        said = [True, bool(obj and obj.accepted_warnings), bool(obj and obj.withdrawn_at)]
        return [fieldset for fieldset, is_so in zip(found, said, strict=True) if is_so]

    @admin.display(description="State")
    def state(self, release: Any) -> str:
        if release.is_live:
            return format_html('<span class="desk-tag desk-live">{}</span>', "live")
        if release.withdrawn_at:
            return format_html('<span class="desk-tag desk-withdrawn">{}</span>', "withdrawn")
        return "was live" if release.last_note is not None else "never live"

    @admin.display(description="Last note")
    def note(self, release: Any) -> str:
        return release.last_note or ""

    @admin.display(description="Accepted warnings")
    def warnings(self, release: Release) -> str:
        said = (
            (warning["op"], warning["field"], warning["message"], warning["fix"])
            for warning in release.accepted_warnings[: showing.LISTED]
        )
        listed = format_html_join("", "<div>{}, {}: {} {}</div>", said)
        left = len(release.accepted_warnings) - showing.LISTED
        return format_html("{}<div>… and {} more.</div>", listed, left) if left > 0 else listed

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the release history above the list."""
        found = timeline().select_related("release").defer(*releases.LARGE)[:TIMELINE]
        more = {"timeline": found, "may_publish": self.has_publish_permission(request)}
        return super().changelist_view(request, more | (extra_context or {}))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a release with its ops, its history, and the actions that the user can take."""
        release = Release.objects.defer("content").filter(pk=object_id).first()
        more: dict[str, Any] = {}
        if release is not None:
            q = request.GET.get("q", "")
            ops = [(op, *counts) for op, counts in sorted(release.tokens.items()) if q in op]
            page = Paginator(ops, showing.PAGE).get_page(request.GET.get("p"))
            steps = [step for step in STEPS if self.may(request, step) and not step.refusal(release)]
            was_live = timeline().filter(release=release)
            more = {"release": release, "page": page, "q": q, "steps": steps, "was_live": was_live}
        return super().change_view(request, object_id, form_url, more | (extra_context or {}))


def timeline() -> QuerySet[Any]:
    """Return the activations, newest first, each with the time of the next one as `until`."""
    until = Activation.objects.filter(id__gt=OuterRef("id")).order_by("id").values("activated_at")[:1]
    return Activation.objects.annotate(until=Subquery(until)).order_by("-id")


@admin.register(Activation)
class ActivationAdmin(desk.ReadOnly, desk.ModelAdmin[Activation]):
    empty = "No release has been live yet. Review the draft and publish it."
    list_display = ["activated_at", "release", "note", "activated_by", "lasted"]
    list_display_links = ["activated_at", "release"]
    list_select_related = ["release"]
    search_fields = ["release__version", "note", "activated_by"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Activation]:
        return timeline().select_related("release").defer(*releases.LARGE)

    @admin.display(description="Live for")
    def lasted(self, activation: Any) -> str:
        told = timesince(activation.activated_at, activation.until or timezone.now())
        return told if activation.until else f"{told}, until now"
