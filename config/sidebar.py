"""The admin's sidebar: sections by task. Users see the entries that they have permission to open."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from gateway.admin.reports.report_list import REPORT_PERMISSIONS, REPORTS


class SidebarList(NamedTuple):
    """A sidebar entry for a model's list. `icon` is a Material symbol, `model` is app_label.ModelName."""

    title: str
    icon: str
    model: str


class SidebarPage(NamedTuple):
    """A sidebar entry for another page. `name` is its URL name; `permissions` are all required."""

    title: str
    icon: str
    name: str
    permissions: list[str]


class SidebarSection(NamedTuple):
    """A section of the sidebar."""

    title: str
    entries: list[SidebarList | SidebarPage]
    is_folded: bool = False


COPY_MODELS = ("op", "group", "promptsection", "agent", "pin")
WRITE_COPY = [f"registry.{verb}_{model}" for verb in ("add", "change") for model in COPY_MODELS]
SEE_COPY = [f"registry.view_{model}" for model in COPY_MODELS]

SEE_ROLLOUT = [f"analytics.view_{model}" for model in ("cohort", "flag", "assignment")]

SECTIONS = [
    SidebarSection(
        "Copy",
        [
            SidebarList("Ops", "terminal", "registry.Op"),
            SidebarList("Groups", "account_tree", "registry.Group"),
            SidebarList("Prompt sections", "article", "registry.PromptSection"),
            SidebarList("Agents", "smart_toy", "registry.Agent"),
            SidebarList("Pins", "keep", "registry.Pin"),
            SidebarPage("Copy as files", "folder_zip", "registry_op_files", WRITE_COPY),
        ],
    ),
    SidebarSection(
        "Find a phrase",
        [
            SidebarList("Policy rules", "rule", "registry.PolicyRule"),
            SidebarList("Examples", "data_object", "registry.Example"),
            SidebarList("Aliases", "alternate_email", "registry.OpAlias"),
        ],
    ),
    SidebarSection(
        "Releases",
        [
            SidebarPage("Review and publish", "rate_review", "registry_release_review", SEE_COPY),
            SidebarPage("Evals", "quiz", "registry_evalcase_compare", ["registry.view_evalcase"]),
            SidebarList("Eval cases", "fact_check", "registry.EvalCase"),
            SidebarList("Evals with a model", "psychology", "gateway.ModelRun"),
            SidebarList("Releases", "inventory_2", "registry.Release"),
            SidebarList("Release history", "timeline", "registry.Activation"),
        ],
    ),
    SidebarSection(
        "Rollout",
        [
            SidebarList("Cohorts", "groups", "analytics.Cohort"),
            SidebarList("Flags", "toggle_on", "analytics.Flag"),
            SidebarPage("Who gets this?", "person_search", "rollout_who", SEE_ROLLOUT),
            SidebarList("Exposures", "visibility", "analytics.Assignment"),
            SidebarList("Users seen", "group", "analytics.Subject"),
        ],
    ),
    SidebarSection(
        "Reports",
        [SidebarPage(report.title, report.icon, report.url_name, REPORT_PERMISSIONS) for report in REPORTS],
    ),
    SidebarSection(
        "Activity",
        [
            SidebarList("Events", "bolt", "analytics.OperationEvent"),
            SidebarList("Turns", "forum", "analytics.Turn"),
            SidebarList("Tool selections", "handyman", "analytics.ToolSelection"),
            SidebarList("Daily figures", "calendar_view_day", "analytics.OpDaily"),
            SidebarList("Batches", "stacks", "gateway.Batch"),
            SidebarList("Batch entries", "list", "gateway.BatchEntry"),
            SidebarList("Idempotency records", "fingerprint", "gateway.IdempotencyRecord"),
            SidebarList("Used confirmations", "check_circle", "gateway.UsedConfirmation"),
            SidebarList("Stored files", "attach_file", "gateway.StoredFile"),
            SidebarList("Periodic jobs", "schedule", "gateway.PeriodicJob"),
            SidebarList("Op embeddings", "scatter_plot", "registry.OpEmbedding"),
            SidebarList("Rollups", "functions", "analytics.Rollup"),
        ],
    ),
    SidebarSection(
        "Access",
        [
            SidebarList("Clients", "apps", "gateway.Client"),
            SidebarList("API keys", "key", "gateway.ApiKey"),
            SidebarList("Signed-in applications", "devices", "gateway.SignedInApplication"),
            SidebarList("OAuth applications", "extension", "oauth2_provider.Application"),
            SidebarList("Connections", "hub", "registry.Connection"),
            SidebarList("User grants", "how_to_reg", "gateway.UserGrant"),
            SidebarList("Switches", "toggle_off", "registry.Switch"),
            SidebarList("Users", "person", "auth.User"),
            SidebarList("Roles", "shield_person", "auth.Group"),
            SidebarList("Chat profiles", "chat", "chat.Profile"),
            SidebarList("Failed sign-ins", "lock", "axes.AccessAttempt"),
            SidebarList("Audit log", "history", "analytics.AuditEntry"),
        ],
    ),
    SidebarSection(
        "Workspace",
        [
            SidebarList("Projects", "folder", "workspace.Project"),
            SidebarList("Memberships", "group", "workspace.Membership"),
            SidebarList("Tasks", "task_alt", "workspace.Task"),
            SidebarList("Documents", "description", "workspace.Document"),
            SidebarList("Goals", "flag", "workspace.Goal"),
            SidebarList("Plans", "map", "workspace.Plan"),
            SidebarList("Milestones", "signpost", "workspace.Milestone"),
            SidebarList("Risks", "warning", "workspace.Risk"),
            SidebarList("Requirements", "checklist", "workspace.Requirement"),
            SidebarList("Edges", "line_end_arrow", "workspace.Edge"),
            SidebarList("Calendar events", "event", "workspace.CalendarEvent"),
            SidebarList("Project calendars", "calendar_month", "workspace.ProjectCalendar"),
            SidebarList("Profiles", "badge", "workspace.Profile"),
        ],
        is_folded=True,
    ),
]


def sections(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the sidebar for the current user, in unfold's format. Sections without entries are left out."""
    home = {"title": "Home", "icon": "home", "link": reverse("admin:index")}
    sidebar: list[dict[str, Any]] = [{"title": "", "items": [home]}]
    for section in SECTIONS:
        if items := list(_build_items(section, request)):
            sidebar.append(
                {"title": section.title, "collapsible": section.is_folded, "separator": True, "items": items}
            )
    entries = [item for section in sidebar for item in section["items"]]
    here = max((item["link"] for item in entries if request.path.startswith(item["link"])), key=len, default="")
    for item in entries:
        item["active"] = item["link"] == here
    return sidebar


def _build_items(section: SidebarSection, request: HttpRequest) -> Iterator[dict[str, Any]]:
    for entry in section.entries:
        if link := _get_link(entry, request):
            yield {"title": entry.title, "icon": entry.icon, "link": link}


def _get_link(entry: SidebarList | SidebarPage, request: HttpRequest) -> str:
    """Return the URL of an entry, or "" if the user may not open it."""
    if isinstance(entry, SidebarPage):
        return reverse(f"admin:{entry.name}") if request.user.has_perms(entry.permissions) else ""
    model = apps.get_model(entry.model)
    if not admin.site.get_model_admin(model).has_view_or_change_permission(request):
        return ""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
