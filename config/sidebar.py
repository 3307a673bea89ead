"""The admin's sidebar: sections by task. Users see the entries that they have permission to open."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse


class Entry(NamedTuple):
    """A sidebar entry for a model's list. `icon` is a Material symbol, `model` is app_label.ModelName."""

    title: str
    icon: str
    model: str


class Page(NamedTuple):
    """A sidebar entry for another page. `name` is its URL name; `permissions` are all required."""

    title: str
    icon: str
    name: str
    permissions: list[str]


class Section(NamedTuple):
    """A section of the sidebar."""

    title: str
    entries: list[Entry | Page]
    is_folded: bool = False


COPIED = ("op", "group", "promptsection")
WRITE_COPY = [f"registry.{verb}_{model}" for verb in ("add", "change") for model in COPIED]
SEE_COPY = [f"registry.view_{model}" for model in COPIED]

SEE_ROLLOUT = [f"analytics.view_{model}" for model in ("cohort", "flag", "assignment")]
SEE_REPORTS = ["analytics.view_opdaily", "analytics.view_turn", "analytics.view_toolselection"]

SECTIONS = [
    Section(
        "Copy",
        [
            Entry("Ops", "terminal", "registry.Op"),
            Entry("Groups", "account_tree", "registry.Group"),
            Entry("Prompt sections", "article", "registry.PromptSection"),
            Page("Copy as files", "folder_zip", "registry_op_files", WRITE_COPY),
        ],
    ),
    Section(
        "Find a phrase",
        [
            Entry("Policy rules", "rule", "registry.PolicyRule"),
            Entry("Examples", "data_object", "registry.Example"),
            Entry("Aliases", "alternate_email", "registry.OpAlias"),
        ],
    ),
    Section(
        "Releases",
        [
            Page("Review and publish", "rate_review", "registry_release_review", SEE_COPY),
            Entry("Releases", "inventory_2", "registry.Release"),
            Entry("Release history", "timeline", "registry.Activation"),
            Entry("History of changes", "history", "analytics.AuditEntry"),
        ],
    ),
    Section(
        "Rollout",
        [
            Entry("Cohorts", "groups", "analytics.Cohort"),
            Entry("Flags", "toggle_on", "analytics.Flag"),
            Page("Who gets this?", "person_search", "rollout_who", SEE_ROLLOUT),
            Entry("Exposures", "visibility", "analytics.Assignment"),
            Entry("Users seen", "group", "analytics.Subject"),
        ],
    ),
    Section(
        "Reports",
        [
            Page("Overview", "monitoring", "report_overview", SEE_REPORTS),
            Page("Funnel", "filter_alt", "report_funnel", SEE_REPORTS),
            Page("By op", "bar_chart", "report_ops", SEE_REPORTS),
            Page("By model", "smart_toy", "report_models", SEE_REPORTS),
            Page("Side by side", "compare", "report_comparison", SEE_REPORTS),
            Page("Tool selection", "checklist", "report_selection", SEE_REPORTS),
            Page("Unknown names and loops", "sync_problem", "report_lost", SEE_REPORTS),
        ],
    ),
    Section(
        "Activity",
        [
            Entry("Events", "bolt", "analytics.OperationEvent"),
            Entry("Turns", "forum", "analytics.Turn"),
            Entry("Tool selections", "handyman", "analytics.ToolSelection"),
            Entry("Daily figures", "calendar_view_day", "analytics.OpDaily"),
            Entry("Batches", "stacks", "gateway.Batch"),
            Entry("Batch entries", "list", "gateway.BatchEntry"),
            Entry("Idempotency records", "fingerprint", "gateway.IdempotencyRecord"),
            Entry("Periodic jobs", "schedule", "gateway.PeriodicJob"),
            Entry("Rollups", "functions", "analytics.Rollup"),
        ],
    ),
    Section(
        "Access",
        [
            Entry("Clients", "apps", "gateway.Client"),
            Entry("API keys", "key", "gateway.ApiKey"),
            Entry("Connections", "hub", "registry.Connection"),
            Entry("Switches", "toggle_off", "registry.Switch"),
            Entry("Users", "person", "auth.User"),
            Entry("Roles", "shield_person", "auth.Group"),
        ],
    ),
    Section(
        "Workspace",
        [
            Entry("Projects", "folder", "workspace.Project"),
            Entry("Memberships", "group", "workspace.Membership"),
            Entry("Tasks", "task_alt", "workspace.Task"),
            Entry("Documents", "description", "workspace.Document"),
            Entry("Goals", "flag", "workspace.Goal"),
            Entry("Plans", "map", "workspace.Plan"),
            Entry("Milestones", "signpost", "workspace.Milestone"),
            Entry("Risks", "warning", "workspace.Risk"),
            Entry("Requirements", "checklist", "workspace.Requirement"),
            Entry("Edges", "line_end_arrow", "workspace.Edge"),
            Entry("Calendar events", "event", "workspace.CalendarEvent"),
            Entry("Project calendars", "calendar_month", "workspace.ProjectCalendar"),
            Entry("Profiles", "badge", "workspace.Profile"),
        ],
        is_folded=True,
    ),
]


def sections(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the sidebar for the current user, in unfold's format. Sections without entries are left out."""
    home = {"title": "Home", "icon": "home", "link": reverse("admin:index")}
    found: list[dict[str, Any]] = [{"title": "", "items": [home]}]
    for section in SECTIONS:
        if items := list(_items(section, request)):
            found.append({"title": section.title, "collapsible": section.is_folded, "separator": True, "items": items})
    entries = [item for section in found for item in section["items"]]
    here = max((item["link"] for item in entries if request.path.startswith(item["link"])), key=len, default="")
    for item in entries:
        item["active"] = item["link"] == here
    return found


def _items(section: Section, request: HttpRequest) -> Iterator[dict[str, Any]]:
    for entry in section.entries:
        if link := _link(entry, request):
            yield {"title": entry.title, "icon": entry.icon, "link": link}


def _link(entry: Entry | Page, request: HttpRequest) -> str:
    """Return the URL of an entry, or "" if the user may not open it."""
    if isinstance(entry, Page):
        return reverse(f"admin:{entry.name}") if request.user.has_perms(entry.permissions) else ""
    model = apps.get_model(entry.model)
    if not admin.site.get_model_admin(model).has_view_or_change_permission(request):
        return ""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
