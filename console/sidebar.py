"""The admin's sidebar: entries by task, each with the pages behind it. Users see what they have permission to open."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from console.reports.report_list import REPORT_PERMISSIONS, REPORTS
from console.system import guides
from core.admin.page_parts import GUIDES_PAGE, SYSTEM_PAGE


class ModelList(NamedTuple):
    """A model's list. `model` is app_label.ModelName; `about` says what its rows are, on the System page."""

    title: str
    model: str
    about: str = ""


class Page(NamedTuple):
    """Another page. `name` is its URL name; `permissions` are all required."""

    title: str
    name: str
    permissions: list[str]


class Entry(NamedTuple):
    """An entry of the sidebar. `icon` is a Material symbol, `guide` the guide to it and its heading.

    The entry opens the first page that the user may open; the others are tabs of it.
    """

    icon: str
    guide: str
    pages: list[ModelList | Page]
    title: str = ""  # empty: that of the first page


class Section(NamedTuple):
    """A section of the sidebar."""

    title: str
    entries: list[Entry]


COPY_MODELS = ("op", "group", "promptsection", "agent", "pin")
WRITE_COPY = [f"registry.{verb}_{model}" for verb in ("add", "change") for model in COPY_MODELS]
SEE_COPY = [f"registry.view_{model}" for model in COPY_MODELS]

SEE_ROLLOUT = [f"analytics.view_{model}" for model in ("cohort", "flag", "assignment")]


def _report_pages(*names: str, but: tuple[str, ...] = ()) -> list[ModelList | Page]:
    chosen = [each for each in REPORTS if (each.url_name in names if names else each.url_name not in but)]
    return [Page(each.title, each.url_name, REPORT_PERMISSIONS) for each in chosen]


SECTIONS = [
    Section(
        "Copy",
        [
            Entry(
                "terminal",
                "admin-guide#edit-what-the-model-reads",
                [
                    ModelList("Ops", "registry.Op"),
                    ModelList("Policy rules", "registry.PolicyRule"),
                    ModelList("Examples", "registry.Example"),
                    ModelList("Aliases", "registry.OpAlias"),
                    Page("Copy as files", "registry_op_files", WRITE_COPY),
                ],
            ),
            Entry("account_tree", "admin-guide#edit-what-the-model-reads", [ModelList("Groups", "registry.Group")]),
            Entry(
                "article",
                "admin-guide#edit-what-the-model-reads",
                [ModelList("Prompt sections", "registry.PromptSection")],
            ),
            Entry("smart_toy", "surfaces#agents", [ModelList("Agents", "registry.Agent")]),
            Entry("keep", "surfaces#hybrid-pins", [ModelList("Pins", "registry.Pin")]),
        ],
    ),
    Section(
        "Releases",
        [
            Entry(
                "rate_review",
                "admin-guide#review-and-publish",
                [
                    Page("Review and publish", "registry_release_review", SEE_COPY),
                    ModelList("Reviews", "registry.ReviewRequest"),
                    ModelList("Scheduled", "registry.ScheduledPublish"),
                ],
            ),
            Entry(
                "quiz",
                "evals",
                [
                    Page("Evals", "registry_evalcase_compare", ["registry.view_evalcase"]),
                    ModelList("Eval cases", "registry.EvalCase"),
                    ModelList("Evals with a model", "gateway.ModelRun"),
                ],
            ),
            Entry(
                "inventory_2",
                "admin-guide#undo-a-release",
                [ModelList("Releases", "registry.Release"), ModelList("Release history", "registry.Activation")],
            ),
        ],
    ),
    Section(
        "Rollout",
        [
            Entry("groups", "rollout-guide#cohorts", [ModelList("Cohorts", "analytics.Cohort")]),
            Entry("toggle_on", "rollout-guide", [ModelList("Flags", "analytics.Flag")]),
            Entry(
                "person_search",
                "rollout-guide#who-gets-this",
                [
                    Page("Who gets this?", "rollout_who", SEE_ROLLOUT),
                    ModelList("Exposures", "analytics.Assignment"),
                    ModelList("Users seen", "analytics.Subject"),
                ],
            ),
        ],
    ),
    Section(
        "Reports",
        [
            Entry(
                "monitoring",
                "rollout-guide#measuring-the-effect-reports",
                _report_pages(but=("report_comparison", "report_misses")),
            ),
            Entry("compare", "rollout-guide#is-one-better", _report_pages("report_comparison")),
            Entry("search_off", "evals#from-traffic", _report_pages("report_misses")),
        ],
    ),
    Section(
        "Activity",
        [
            Entry("bolt", "reference/events", [ModelList("Events", "analytics.OperationEvent")]),
            Entry(
                "forum",
                "reference/events",
                [ModelList("Turns", "analytics.Turn"), ModelList("Tool selections", "analytics.ToolSelection")],
            ),
        ],
    ),
    Section(
        "Access",
        [
            Entry(
                "apps",
                "api-clients",
                [
                    ModelList("Clients", "gateway.Client"),
                    ModelList("API keys", "gateway.ApiKey"),
                    ModelList("Signed-in applications", "gateway.SignedInApplication"),
                    ModelList("OAuth applications", "oauth2_provider.Application"),
                ],
            ),
            Entry(
                "hub",
                "connect",
                [ModelList("Connections", "registry.Connection"), ModelList("User grants", "gateway.UserGrant")],
            ),
            Entry("toggle_off", "admin-guide#in-a-hurry-switches", [ModelList("Switches", "registry.Switch")]),
            Entry(
                "person",
                "reference/roles",
                [
                    ModelList("Users", "auth.User"),
                    ModelList("Roles", "auth.Group"),
                    ModelList("Chat profiles", "chat.Profile"),
                    ModelList("Failed sign-ins", "axes.AccessAttempt"),
                ],
            ),
            Entry("history", "admin-guide#who-did-what-the-audit-log", [ModelList("Audit log", "audit.AuditEntry")]),
        ],
    ),
]

HOME_GUIDE = "admin-guide#home-what-needs-me-today"
SYSTEM_ABOUT = "What services keep while they run, and the rows of the embedded workspace. To look into a problem."

# Rows that services write, and those of the embedded workspace, by heading.
SYSTEM_LISTS = {
    "Calls": [
        ModelList("Batches", "gateway.Batch", "calls of tool_batch, with their state"),
        ModelList("Batch entries", "gateway.BatchEntry", "the single calls of batches"),
        ModelList("Idempotency records", "gateway.IdempotencyRecord", "writes whose answer is repeated, not run again"),
        ModelList("Used confirmations", "gateway.UsedConfirmation", "confirmed calls, each of which runs once"),
        ModelList("Stored files", "gateway.StoredFile", "files that ops returned or take"),
    ],
    "Figures and jobs": [
        ModelList("Daily figures", "analytics.OpDaily", "the sums behind the reports, by op and day"),
        ModelList("Rollups", "analytics.Rollup", "how far the events are summed up"),
        ModelList("Saved views", "analytics.SavedView", "filters that people saved on reports and lists"),
        ModelList(
            "Notifications", "notifications.Notification", "e-mails and webhook calls, and why some were not sent"
        ),
        ModelList("Periodic jobs", "gateway.PeriodicJob", "when each job ran last, and what went wrong"),
        ModelList("Op embeddings", "registry.OpEmbedding", "vectors of texts, for search by meaning"),
    ],
    "Workspace": [
        ModelList("Projects", "workspace.Project"),
        ModelList("Memberships", "workspace.Membership"),
        ModelList("Tasks", "workspace.Task"),
        ModelList("Documents", "workspace.Document"),
        ModelList("Goals", "workspace.Goal"),
        ModelList("Plans", "workspace.Plan"),
        ModelList("Milestones", "workspace.Milestone"),
        ModelList("Risks", "workspace.Risk"),
        ModelList("Requirements", "workspace.Requirement"),
        ModelList("Edges", "workspace.Edge", "which row blocks, contains or follows which"),
        ModelList("Calendar events", "workspace.CalendarEvent"),
        ModelList("Project calendars", "workspace.ProjectCalendar"),
        ModelList("Profiles", "workspace.Profile", "name, time zone and working hours of each user"),
    ],
}


def sections(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the sidebar for the current user, in unfold's format. Sections without entries are left out.

    Besides unfold's keys an item has `pages`, which are the pages behind the entry, and `guide`, the URL of
    what the guides say about them. Those of Guides and System also have `lists`: their pages by heading.
    """
    home: dict[str, Any] = {
        "title": "Home",
        "icon": "home",
        "guide": _get_guide_url(HOME_GUIDE),
        "pages": [_build_page("Home", "index")],
    }
    sidebar: list[dict[str, Any]] = [{"title": "", "items": [home]}]
    for section in SECTIONS:
        if items := list(_build_items(section, request)):
            sidebar.append({"title": section.title, "separator": True, "items": items})
    sidebar.append({"title": "", "separator": True, "items": list(_build_last_items(request))})
    _mark_active([item for section in sidebar for item in section["items"]], request.path)
    return sidebar


def _mark_active(items: list[dict[str, Any]], path: str) -> None:
    """Set `link` and `active` of the items, and `active` of the page whose address is the beginning of the path."""
    links = [page["link"] for item in items for page in item["pages"]]
    here = max(filter(path.startswith, links), key=len, default="")
    for item in items:
        item["link"] = item["pages"][0]["link"]
        for page in item["pages"]:
            page["active"] = page["link"] == here
        item["active"] = any(page["active"] for page in item["pages"])


def _build_items(section: Section, request: HttpRequest) -> Iterator[dict[str, Any]]:
    for entry in section.entries:
        if pages := list(_build_pages(entry.pages, request)):
            title = entry.title or entry.pages[0].title
            yield {"title": title, "icon": entry.icon, "guide": _get_guide_url(entry.guide), "pages": pages}


def _build_last_items(request: HttpRequest) -> Iterator[dict[str, Any]]:
    """Yield the entry of the guides, and that of System if the user may see one of its lists."""
    contents = {
        heading: [
            _build_page(guides.read_title(name), "guide", name) | {"about": about} for name, about in each.items()
        ]
        for heading, each in guides.GUIDES.items()
    }
    yield _build_index("Guides", "menu_book", GUIDES_PAGE, contents)
    lists = {heading: list(_build_pages(pages, request)) for heading, pages in SYSTEM_LISTS.items()}
    if any(lists.values()):
        yield _build_index("System", "settings", SYSTEM_PAGE, lists) | {
            "about": SYSTEM_ABOUT,
            "guide": _get_guide_url("reliability"),
        }


def _build_index(title: str, icon: str, name: str, lists: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    pages = [_build_page(title, name), *(page for pages in lists.values() for page in pages)]
    return {"title": title, "icon": icon, "guide": "", "pages": pages, "lists": lists}


def _build_pages(pages: Sequence[ModelList | Page], request: HttpRequest) -> Iterator[dict[str, Any]]:
    for page in pages:
        if isinstance(page, Page):
            if request.user.has_perms(page.permissions):
                yield _build_page(page.title, page.name)
            continue
        model = apps.get_model(page.model)
        if admin.site.get_model_admin(model).has_view_or_change_permission(request):
            name = f"{model._meta.app_label}_{model._meta.model_name}_changelist"
            yield _build_page(page.title, name) | {"about": page.about}


def _get_guide_url(place: str) -> str:
    name, _, anchor = place.partition("#")
    return reverse("admin:guide", args=[name]) + (f"#{anchor}" if anchor else "")


def _build_page(title: str, name: str, *args: str) -> dict[str, Any]:
    return {"title": title, "link": reverse(f"admin:{name}", args=args)}
