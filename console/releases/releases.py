"""The admin of releases."""

import re
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from analytics.models import AuditEntry
from analytics.rollout.flags import FlagKey
from console import diff_view
from console.audited import AuditHistoryAdmin
from console.releases.actions import RELEASE_ACTIONS
from console.releases.compare_releases import CompareReleasesMixin
from console.releases.discard import DiscardMixin
from console.releases.discard_all import DiscardAllMixin
from console.releases.released_op import ReleasedOpMixin
from console.releases.review_requests import ReviewRequestMixin
from console.releases.schedule import ScheduleMixin
from core.admin import base
from registry.models import Activation, Release
from registry.releases import timeline

_NUMBER = re.compile(r"[rR]([1-9][0-9]{0,8})")


def _build_add_cohort_url(request: HttpRequest, release: Release) -> str:
    """Return the URL of the form for a cohort on this release; "" if the user cannot add one."""
    if release.withdrawn_at or not request.user.has_perm("analytics.add_cohort"):
        return ""
    values = {"flag": FlagKey.RELEASE.value, "variant": release.version}
    return f"{reverse('admin:analytics_cohort_add')}?{urlencode(values)}"


@admin.register(Release)
class ReleaseAdmin(
    base.ReadOnlyMixin,
    ReviewRequestMixin,
    DiscardMixin,
    DiscardAllMixin,
    ScheduleMixin,
    CompareReleasesMixin,
    ReleasedOpMixin,
    AuditHistoryAdmin,
):
    has_history = True
    empty = "No releases yet. Review the draft and publish it."
    list_display = ["title", "short_version", "state", "note", "op_count", "created_at", "created_by"]
    list_display_links = ["title"]
    list_before_template = "console/releases/release_links.html"
    change_form_template = "console/releases/release.html"
    fieldsets = [
        (None, {"fields": ["title", "version", ("state", "note"), ("created_at", "created_by"), "op_count"]}),
        ("Accepted warnings", {"fields": ["accepted_because", "warnings"]}),
        ("Withdrawn", {"fields": [("withdrawn_at", "withdrawn_by"), "withdrawn_reason"]}),
    ]
    readonly_fields = ["title", "state", "note", "warnings"]
    search_fields = ["version", "name", "labels", "created_by", "withdrawn_reason"]
    go_to_order = 5

    def get_go_to_title(self, row: Release) -> str:
        return f"{row.short_name} ({row})" if row.number else str(row)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Release], search_term: str
    ) -> tuple[QuerySet[Release], bool]:
        """Find a release by its number, too: r12."""
        rows, may_have_duplicates = super().get_search_results(request, queryset, search_term)
        if numbered := _NUMBER.fullmatch(search_term.strip()):
            rows |= queryset.filter(number=int(numbered[1]))
        return rows, may_have_duplicates

    def get_audit_key(self, row: Release) -> tuple[str, str]:
        return AuditEntry.Kind.RELEASE, row.version

    def get_queryset(self, request: HttpRequest) -> QuerySet[Release]:
        activations = Activation.objects.filter(release=OuterRef("pk"))
        notes = activations.order_by("-activated_at", "-id").values("note")[:1]
        rows = Release.objects.defer("content", "tokens", "accepted_warnings")
        return rows.annotate(is_live=Exists(activations.filter(is_live=True)), last_note=Subquery(notes))

    def get_fieldsets(self, request: HttpRequest, obj: Release | None = None) -> Any:
        """Return the fieldsets that apply to this release."""
        fieldsets = list(super().get_fieldsets(request, obj))
        applies = [True, bool(obj and obj.accepted_warnings), bool(obj and obj.withdrawn_at)]
        return [fieldset for fieldset, is_so in zip(fieldsets, applies, strict=True) if is_so]

    @admin.display(description="Release", ordering="number")
    def title(self, release: Release) -> str:
        """Return the number, the name and the labels."""
        labels = ((label,) for label in release.labels)
        return format_html("{} {}", release.short_name, format_html_join(" ", '<span class="ui-tag">{}</span>', labels))

    @admin.display(description="Version", ordering="version")
    def short_version(self, release: Release) -> str:
        return str(release)

    @admin.display(description="State")
    def state(self, release: Any) -> str:
        if release.is_live:
            return format_html('<span class="ui-tag ui-tag--live">{}</span>', "live")
        if release.withdrawn_at:
            return format_html('<span class="ui-tag ui-tag--withdrawn">{}</span>', "withdrawn")
        return "was live" if release.last_note is not None else "never live"

    @admin.display(description="Last note")
    def note(self, release: Any) -> str:
        return release.last_note or ""

    @admin.display(description="Accepted warnings")
    def warnings(self, release: Release) -> str:
        lines = (
            (warning["op"], warning["field"], warning["message"], warning["fix"])
            for warning in release.accepted_warnings[: diff_view.MAX_LISTED]
        )
        listed = format_html_join("", "<div>{}, {}: {} {}</div>", lines)
        left = len(release.accepted_warnings) - diff_view.MAX_LISTED
        return format_html("{}<div>… and {} more.</div>", listed, left) if left > 0 else listed

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a release with its ops, its history, and the actions that the user can take."""
        release = Release.objects.defer("content").filter(pk=object_id).first()
        context: dict[str, Any] = {}
        if release is not None:
            q = request.GET.get("q", "")
            ops = [(op, *counts) for op, counts in sorted(release.tokens.items()) if q in op]
            page = Paginator(ops, diff_view.PAGE_SIZE).get_page(request.GET.get("p"))
            release_actions = [
                action
                for action in RELEASE_ACTIONS
                if self.can_run(request, action) and not action.explain_refusal(release)
            ]
            activations = timeline.query_activations().filter(release=release)
            context = {
                "release": release,
                "page": page,
                "q": q,
                "release_actions": release_actions,
                "activations": activations,
                "add_cohort_url": _build_add_cohort_url(request, release),
            }
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))
