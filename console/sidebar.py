"""The sidebar: entries by task, each with the pages behind it. Users see what they have permission to open."""

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

SECTIONS = ("Copy", "Releases", "Rollout", "Reports", "Activity", "Access")  # in the order of the sidebar
HOME_GUIDE = "admin-guide#home-what-needs-me-today"
SYSTEM_ABOUT = "Internal rows of the gateway and rows of the embedded workspace. Use them to investigate problems."


def check(declared: Manifest) -> None:
    """Raise ImproperlyConfigured for an entry that would break every page, or would not be shown."""
    entries = declared.entries
    lists = [page for pages in (*declared.tabs.values(), *declared.system_lists.values()) for page in pages]
    pages = [page for entry in entries for page in entry.pages] + lists
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
        "an unknown page": {page.name for page in pages if isinstance(page, PageLink)} - addresses,
        "an unknown section": {entry.section for entry in entries} - set(SECTIONS),
        "tabs of an unknown entry": set(declared.tabs) - {entry.title for entry in entries},
    }
    for problem, names in problems.items():
        if names:
            raise ImproperlyConfigured(f"The sidebar has {problem}: {', '.join(sorted(names))}. Correct the manifest.")


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
    for title in SECTIONS:
        if items := list(_build_items(title, request)):
            sidebar.append({"title": title, "separator": True, "items": items})
    sidebar.append({"title": "", "separator": True, "items": list(_build_last_items(request))})
    _mark_active([item for section in sidebar for item in section["items"]], request.path)
    return sidebar


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
    """Complete the items, and set `active` of the page whose address is the beginning of the path."""
    links = [page["link"] for item in items for page in item["pages"]]
    here = max(filter(path.startswith, links), key=len, default="")
    for item in items:
        item["link"] = item["pages"][0]["link"]
        item["has_permission"] = True  # all entries are for this user; unfold's template shows only such items
        for page in item["pages"]:
            page["active"] = page["link"] == here
        item["active"] = any(page["active"] for page in item["pages"])


def _build_items(section: str, request: HttpRequest) -> Iterator[dict[str, Any]]:
    declared = manifest.get()
    for entry in sorted((each for each in declared.entries if each.section == section), key=lambda each: each.place):
        if pages := list(_build_pages([*entry.pages, *declared.tabs.get(entry.title, ())], request)):
            yield {"title": entry.title, "icon": entry.icon, "guide": _get_guide_url(entry.guide), "pages": pages}


def _build_last_items(request: HttpRequest) -> Iterator[dict[str, Any]]:
    """Yield the entry of the guides, and System if the user can see one of its lists."""
    contents = {
        heading: [
            _build_page(guides.read_title(name), "guide", name) | {"about": about} for name, about in each.items()
        ]
        for heading, each in guides.GUIDES.items()
    }
    yield _build_index("Guides", "menu_book", GUIDES_PAGE, contents)
    # What the service itself keeps comes before the rows of its apps.
    declared = {**system.MANIFEST.system_lists, **manifest.get().system_lists}
    lists = {heading: list(_build_pages(pages, request)) for heading, pages in declared.items()}
    if any(lists.values()):
        yield _build_index("System", "settings", SYSTEM_PAGE, lists) | {
            "about": SYSTEM_ABOUT,
            "guide": _get_guide_url("reliability"),
        }


def _build_index(title: str, icon: str, name: str, lists: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    pages = [_build_page(title, name), *(page for pages in lists.values() for page in pages)]
    return {"title": title, "icon": icon, "guide": "", "pages": pages, "lists": lists}


def _build_pages(pages: Sequence[ModelList | PageLink], request: HttpRequest) -> Iterator[dict[str, Any]]:
    for page in pages:
        if isinstance(page, PageLink):
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
