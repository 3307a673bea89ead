"""The list of releases, one release, one op of it, and the comparison of two releases."""

import re
from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join

from analytics.flags import FlagKey
from analytics.rollout.models import Cohort
from console import diff_view
from console.forms import CompareForm
from console.log_pages import AuditHistoryAdmin
from console.releases.actions import RELEASE_ACTIONS, ReleaseActionsMixin
from console.releases.added_ops import AddedOpsMixin
from console.releases.discard import DiscardAllMixin, DiscardMixin
from console.releases.review_requests import ReviewRequestMixin
from console.releases.schedule import ScheduleMixin
from console.releases.warning_groups import WarningFixMixin
from core.admin import base
from core.text import display, json_text, token_budget
from registry.catalog import builder
from registry.drafts import draft
from registry.help import help_pages
from registry.help.help_pages import HelpQuery
from registry.models import Activation, Release
from registry.releases import help_diff, stored_releases, timeline
from registry.reviews import guarded_release
from registry.snapshot import diff, snapshot
from registry.snapshot.diff import Kind
from registry.snapshot.entries import OpEntry, Snapshot

_NUMBER = re.compile(r"[rR]([1-9][0-9]{0,8})")


class CompareReleasesMixin(base.ModelAdmin[Release]):
    """Adds the compare page to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        own = path("compare/", self.admin_site.admin_view(self.compare_view), name="registry_release_compare")
        return [own, *super().get_urls()]

    def compare_view(self, request: HttpRequest) -> HttpResponse:
        """Show the differences between the releases `before` and `after` in the query; an empty one is the draft.

        Without a query, compare the live release with the draft.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        live = stored_releases.get_live_release()
        form = CompareForm(request.GET if "after" in request.GET else {"before": live and live.pk, "after": ""})
        context: dict[str, Any] = {"title": "Compare", "form": form}
        if form.is_valid():
            before, after = (_load_content(form.cleaned_data[name]) for name in ("before", "after"))
            found_changes = diff.diff_snapshots(before, after)
            page = Paginator(found_changes, diff_view.PAGE_SIZE).get_page(request.GET.get("p"))
            context |= {"is_compared": True, "change_counts": diff_view.format_change_counts(found_changes)}
            context |= diff_view.build_diff_context(page, help_diff.build_differences(list(page), before, after))
        return TemplateResponse(
            request, "console/releases/compare_releases.html", self.admin_site.each_context(request) | context
        )


def _load_content(release: Release | None) -> Snapshot:
    """Return the content of a release, or of the draft if there is no release."""
    return stored_releases.load_content(release) if release else snapshot.snapshot_draft()


class ReleasedOpMixin(ReleaseActionsMixin):
    """Adds the page of one released op to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        own = path("<str:version>/read/", self.admin_site.admin_view(self.read_view), name="registry_release_read")
        return [own, *super().get_urls()]

    def read_view(self, request: HttpRequest, version: str) -> HttpResponse:
        """Show an op as models read it in a release, and how the draft differs."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        release, op = diff_view.get_release_or_404(version), request.GET.get("op", "")
        content = stored_releases.load_content(release)
        entry = next((each for each in content["ops"] if each["op"] == op), None)
        if entry is None:
            raise Http404(f"Release {release} has no op {op[:200]}.")
        draft_entry = draft.read_op_entry(op)
        change = diff.diff_entries(Kind.OP, entry, draft_entry)
        context = {
            "title": f"Op {op} in release {release.short_name}",
            "release": release,
            "op": op,
            "answers": list(_iterate_answers(entry)),
            "difference": help_diff.build_differences([change], _wrap_entry(entry), _wrap_entry(draft_entry))[0]
            if change
            else None,
            "may_restore": self.has_restore_permission(request),
        }
        return TemplateResponse(
            request, "console/releases/released_op.html", self.admin_site.each_context(request) | context
        )


def _iterate_answers(entry: OpEntry) -> Iterator[tuple[str, Any, int]]:
    """Yield (form, body, tokens) of the help about an op."""
    catalog = builder.build_catalog("", _wrap_entry(entry))
    forms: tuple[Literal["short", "full"], ...] = ("short", "full")
    for form in forms if catalog.ops[entry["op"]].is_active else ():
        body = help_pages.answer_query(catalog, HelpQuery(path=entry["op"], format=form)).body
        yield form, json_text.load(body), token_budget.count(body)


def _wrap_entry(entry: OpEntry | None) -> Snapshot:
    """Return a snapshot of one op. Help about an op does not depend on other ops."""
    return {"format": 1, "groups": [], "ops": [entry] if entry else []}


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
    AddedOpsMixin,
    WarningFixMixin,
    DiscardMixin,
    DiscardAllMixin,
    ScheduleMixin,
    CompareReleasesMixin,
    ReleasedOpMixin,
    AuditHistoryAdmin,
):
    has_history = True
    empty = "No releases yet. Review the draft and publish it."
    list_display = ["title", "state", "note", "op_count", "created_at", "creator"]
    list_display_links = ["title"]
    ordering = ["-number"]
    list_before_template = "console/releases/release_links.html"
    change_form_template = "console/releases/release.html"
    fieldsets = [
        (None, {"fields": ["title", "version", ("state", "note"), ("created_at", "creator"), "op_count"]}),
        ("Selected changes", {"fields": ["selected"]}),
        ("Accepted warnings", {"fields": ["accepted_because", "warnings"]}),
        ("Withdrawn", {"fields": [("withdrawn_at", "withdrawn_by"), "withdrawn_reason"]}),
    ]
    readonly_fields = ["title", "state", "note", "creator", "selected", "warnings"]
    search_fields = ["version", "name", "labels", "created_by", "withdrawn_reason"]
    go_to_order = 5

    def get_go_to_texts(self, row: Release) -> tuple[str, str]:
        return (f"{row.short_name} ({row})" if row.number else str(row)), "release"

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Release], search_term: str
    ) -> tuple[QuerySet[Release], bool]:
        """Also find a release by its number: r12."""
        rows, may_have_duplicates = super().get_search_results(request, queryset, search_term)
        if numbered := _NUMBER.fullmatch(search_term.strip()):
            rows |= queryset.filter(number=int(numbered[1]))
        return rows, may_have_duplicates

    def get_audit_key(self, row: Release) -> tuple[str, str]:
        return "release", row.version

    def get_queryset(self, request: HttpRequest) -> QuerySet[Release]:
        activations = Activation.objects.filter(release=OuterRef("pk"))
        readers = Cohort.objects.filter(flag=FlagKey.RELEASE, flag__is_on=True, is_on=True, variant=OuterRef("version"))
        rows = Release.objects.defer("content", "tokens", "accepted_warnings").annotate(
            is_live=Exists(activations.filter(is_live=True)),
            cohort=Subquery(readers.order_by("position").values("name")[:1]),
            cohort_count=Subquery(readers.order_by().values("variant").annotate(count=Count("pk")).values("count")),
        )
        return stored_releases.annotate_own_note(rows)

    def get_fieldsets(self, request: HttpRequest, obj: Release | None = None) -> Any:
        """Return the fieldsets that apply to this release."""
        fieldsets = list(super().get_fieldsets(request, obj))
        applies = [True, bool(obj and obj.base), bool(obj and obj.accepted_warnings), bool(obj and obj.withdrawn_at)]
        return [fieldset for fieldset, is_so in zip(fieldsets, applies, strict=True) if is_so]

    @admin.display(description="Release", ordering="number")
    def title(self, release: Release) -> str:
        """Return the number, the name and the labels."""
        labels = ((label,) for label in release.labels)
        tags = format_html_join(" ", '<span class="ui-tag">{}</span>', labels)
        return format_html('<span title="{}">{}</span> {}', release.version, release.short_name, tags)

    @admin.display(description="State")
    def state(self, release: Any) -> str:
        if release.is_live:
            return format_html('<span class="ui-tag ui-tag--live">{}</span>', "live")
        if release.withdrawn_at:
            return format_html('<span class="ui-tag ui-tag--withdrawn">{}</span>', "withdrawn")
        if release.cohort:
            more = release.cohort_count - 1
            return f"read by the cohort {release.cohort}{f' and {more} more' if more else ''}"
        return "was live" if release.own_note is not None else "never live"

    @admin.display(description="Created by", ordering="created_by")
    def creator(self, release: Release) -> str:
        return display.describe_actor(release.created_by)

    @admin.display(description="Note")
    def note(self, release: Any) -> str:
        return release.own_note or ""

    @admin.display(description="Made of")
    def selected(self, release: Release) -> str:
        """Return which entries of the draft were put into which release."""
        names = [name for _, name in release.selected_entries or ()]
        left = len(names) - diff_view.MAX_LISTED
        more = f" and {left:,} more" if left > 0 else ""
        base = stored_releases.map_short_names([release.base])[release.base]
        return f"{base} with these changes of the draft: {', '.join(names[: diff_view.MAX_LISTED])}{more}"

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
                "experiment": guarded_release.find_latest(release),
            }
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))
