"""The sidebar: nine sections with tabs, and the pages of each tab. Users see what they have permission to open."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.urls import reverse

from console import chat_links
from console.system import guides
from console.system import manifest as system
from core import manifest
from core.admin.page_parts import GUIDES_PAGE, SYSTEM_PAGE
from core.manifest import Manifest, ModelList, PageLink

# The Material symbols of the sections, in the order of the sidebar. Home comes before them, System after them.
SECTIONS = {
    "Copy": "edit_note",
    "Releases": "inventory_2",
    "Rollout": "groups",
    "Reports": "monitoring",
    "Activity": "bolt",
    "Connections": "hub",
    "Access": "key",
}
HOME, SYSTEM = "Home", "System"
HOME_GUIDE = "admin-guide#home-what-needs-me-today"
SYSTEM_ABOUT = "Internal records, for troubleshooting."


def check(declared: Manifest) -> None:
    """Raise ImproperlyConfigured for a tab that would break every page, or would not be shown."""
    lists = [page for pages in (*declared.tab_pages.values(), *declared.system_lists.values()) for page in pages]
    pages = [page for tab in declared.tabs for page in tab.pages] + lists
    models = {page.model for page in pages if isinstance(page, ModelList)}
    registered = {model._meta.label for model in admin.site._registry}
    addresses = {page.name for page in declared.pages}
    addresses.update(
        getattr(pattern, "name", None) or ""
        for model_admin in admin.site._registry.values()
        for pattern in model_admin.get_urls()
    )
    problems = {
        "a model without a page": models - registered,
        "an unknown page": {page.name for page in [*pages, *declared.actions] if isinstance(page, PageLink)}
        - addresses,
        "an unknown section": {tab.section for tab in declared.tabs} - {HOME, *SECTIONS},
        "pages of an unknown tab": set(declared.tab_pages) - {tab.title for tab in declared.tabs},
    }
    for problem, names in problems.items():
        if names:
            raise ImproperlyConfigured(f"The sidebar has {problem}: {', '.join(sorted(names))}. Correct the manifest.")


def list_sections(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the sidebar for the current user, in unfold's format: one group. Sections without tabs are left out.

    Besides unfold's keys a section has `tabs`. A tab has `pages` and `guide`, the URL of what the guides say about
    them. Those of Guides and of internal records also have `lists`: their pages by heading. What is empty is `hidden`.
    """
    home_tab = _build_tab(HOME, HOME_GUIDE, [_build_page(HOME, "index")])
    items = [_build_section(HOME, "home", [home_tab, *_build_tabs(HOME, request)])]
    for title, icon in SECTIONS.items():
        if tabs := list(_build_tabs(title, request)):
            items.append(_build_section(title, icon, tabs))
    last_tabs = list(_build_system_tabs(request))
    items.append(_build_section(SYSTEM if len(last_tabs) > 1 else last_tabs[0]["title"], "settings", last_tabs))
    _mark_active(items, request.path)
    return [{"title": "", "items": items}]


def account_links(_: HttpRequest) -> list[dict[str, Any]]:
    """Return the account menu: the other sites, then the user's own pages."""
    chat_url = chat_links.get_chat_url()
    return [
        *([{"title": "Chat", "link": chat_url}] if chat_url else []),
        {"title": "API docs", "link": reverse("docs")},
        {"title": "Change password", "link": reverse("admin:password_change")},
        {"title": "Second factor", "link": reverse("mfa_index")},
        {"title": "Sessions", "link": reverse("usersessions_list")},
    ]


def _mark_active(items: list[dict[str, Any]], path: str) -> None:
    """Set `active` of the page whose address is the beginning of the path, and of its tab and section."""
    tabs = [tab for item in items for tab in item["tabs"]]
    here = max(filter(path.startswith, (page["link"] for tab in tabs for page in tab["pages"])), key=len, default="")
    for tab in tabs:
        for page in tab["pages"]:
            page["active"] = page["link"] == here
        tab["active"] = any(page["active"] for page in tab["pages"])
        tab["hidden"] = not tab["active"] and all(page["hidden"] for page in tab["pages"])
    for item in items:
        item["active"] = any(tab["active"] for tab in item["tabs"])


def _build_section(title: str, icon: str, tabs: list[dict[str, Any]]) -> dict[str, Any]:
    # All sections are for this user. Unfold's template shows only those with permission.
    return {"title": title, "icon": icon, "tabs": tabs, "link": tabs[0]["link"], "has_permission": True}


def _build_tab(title: str, guide: str, pages: list[dict[str, Any]]) -> dict[str, Any]:
    return {"title": title, "guide": _get_guide_url(guide), "pages": pages, "link": pages[0]["link"]}


def _build_tabs(section: str, request: HttpRequest) -> Iterator[dict[str, Any]]:
    declared = manifest.get()
    for tab in sorted((each for each in declared.tabs if each.section == section), key=lambda each: each.place):
        if pages := list(_build_pages([*tab.pages, *declared.tab_pages.get(tab.title, ())], request)):
            yield _build_tab(tab.title, tab.guide, pages)


def _build_system_tabs(request: HttpRequest) -> Iterator[dict[str, Any]]:
    """Yield the tab of the guides, and that of internal records if the user can see one of their lists."""
    contents = {
        heading: [
            _build_page(guides.read_title(name), "guide", name) | {"about": about} for name, about in each.items()
        ]
        for heading, each in guides.GUIDES.items()
    }
    yield _build_index("Guides", GUIDES_PAGE, contents)
    # What the service itself keeps comes before the rows of its apps.
    declared = {**system.MANIFEST.system_lists, **manifest.get().system_lists}
    lists = {heading: list(_build_pages(pages, request)) for heading, pages in declared.items()}
    if any(lists.values()):
        yield _build_index("Internal records", SYSTEM_PAGE, lists) | {
            "about": SYSTEM_ABOUT,
            "guide": _get_guide_url("reliability"),
        }


def _build_index(title: str, name: str, lists: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    first = _build_page(title, name)
    pages = [first, *(page for pages in lists.values() for page in pages)]
    return {"title": title, "guide": "", "pages": pages, "lists": lists, "link": first["link"]}


def _build_pages(pages: Sequence[ModelList | PageLink], request: HttpRequest) -> Iterator[dict[str, Any]]:
    for page in pages:
        hidden = page.is_needed is not None and not page.is_needed()
        if isinstance(page, PageLink):
            if request.user.has_perms(page.permissions):
                yield _build_page(page.title, page.name) | {"hidden": hidden, "keywords": page.keywords}
            continue
        model = apps.get_model(page.model)
        if admin.site.get_model_admin(model).has_view_or_change_permission(request):
            name = f"{model._meta.app_label}_{model._meta.model_name}_changelist"
            page_item = _build_page(page.title, name)
            yield page_item | {"about": page.about, "hidden": hidden, "keywords": page.keywords}


def _get_guide_url(place: str) -> str:
    name, _, anchor = place.partition("#")
    return reverse("admin:guide", args=[name]) + (f"#{anchor}" if anchor else "")


def _build_page(title: str, name: str, *args: str) -> dict[str, Any]:
    return {"title": title, "link": reverse(f"admin:{name}", args=args), "hidden": False, "keywords": ()}
