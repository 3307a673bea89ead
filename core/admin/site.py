"""The console's admin site: it answers malformed requests with 400, and "Go to" finds pages and rows by name."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote
from zoneinfo import ZoneInfo, available_timezones

from django.contrib.admin import exceptions
from django.contrib.admin.apps import AdminConfig
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import SuspiciousOperation, ValidationError
from django.db import DataError, NotSupportedError
from django.db.models import Case, DateTimeField, IntegerField, Model, Q, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.urls import path, reverse
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string
from django.utils.text import smart_split

from core import manifest
from core.text.display import DASH

if TYPE_CHECKING:  # unfold has no type hints; its site subclasses Django's
    from django.contrib.admin import AdminSite
else:
    from unfold.sites import UnfoldAdminSite as AdminSite

MAX_ROWS = 10  # rows per model
_PARTS = re.compile(r"[\s._\-]+")
MAX_WORDS = 20  # of a search. SQLite allows 1,000 conditions, and each word adds one per searched column
MAX_VALUE_LENGTH = 10_000  # characters of one query parameter; SQLite's LIKE allows 50,000 bytes
MAX_VALUES = 100  # query parameters of one URL
SEARCH_PARAMETERS = ("q", "term", "s")  # search parameters of lists, of autocompletes and of the sidebar
TIME_ZONE_COOKIE = "time_zone"  # set by static/console/time_zone.js
REGEX_LOOKUPS = ("regex", "iregex")  # lookups that would run a regular expression from the URL, without a time limit
View = Callable[..., HttpResponseBase]


class NameMatch(IntEnum):
    """How well a name matches the search text, best first."""

    WHOLE = 0
    BEGINNING = 1
    BEGINNING_OF_PART = 2  # of a dotted path, or of a word
    INSIDE = 3
    ELSEWHERE = 4  # the text was found in another column, such as the summary


class GoToResult(NamedTuple):
    """A page or a row. `order` decides between equally good matches, lowest first.

    `matched` is what the text is compared with, by default the title; `is_text` says that it is no name, so that it
    comes after all names.
    """

    title: str
    description: str
    link: str
    order: int
    matched: str = ""
    is_text: bool = False


def sort_results(results: Iterable[GoToResult], search_text: str) -> list[GoToResult]:
    """Return the results, best match first; equally good ones of the same order stay as their source ranks them."""

    def build_key(each: GoToResult) -> tuple[NameMatch, int]:
        match = NameMatch.ELSEWHERE if each.is_text else match_name(each.matched or each.title, search_text)
        return match, each.order

    best_by_link: dict[str, GoToResult] = {}
    for each in sorted(results, key=build_key):
        best_by_link.setdefault(each.link, each)
    return list(best_by_link.values())


def match_name(name: str, search_text: str) -> NameMatch:
    """Return how well a name matches the search text."""
    name, text = name.casefold(), search_text.casefold()
    if name == text:
        return NameMatch.WHOLE
    if name.startswith(text):
        return NameMatch.BEGINNING
    words, parts = text.split(), _PARTS.split(name)
    if all(any(part.startswith(word) for part in parts) for word in words):
        return NameMatch.BEGINNING_OF_PART
    is_inside = all(word in name for word in words)
    return NameMatch.INSIDE if is_inside else NameMatch.ELSEWHERE


def find_matched_name(title: str, keywords: Sequence[str], search_text: str) -> str:
    """Return the name of a page that the text matches best: its title, or one of its keywords; "" if none does.

    A keyword matches from its first word on: "invite user" matches "invite a user", and "user" does not.
    """
    matches = [(match_name(title, search_text), title)]
    first = search_text.casefold().split()[0]
    for keyword in keywords:
        if keyword.casefold().startswith(first):
            matches.append((match_name(keyword, search_text), keyword))
    match, name = min(matches, key=itemgetter(0))
    is_match = match <= NameMatch.BEGINNING_OF_PART or (match == NameMatch.INSIDE and name == title)
    return name if is_match else ""


def limit_rows(rows: QuerySet[Any], name_field: str, search_text: str) -> QuerySet[Any]:
    """Return the rows whose name matches best: a model may have thousands that match."""
    quality = Case(
        When(Q(**{f"{name_field}__iexact": search_text}), then=Value(0)),
        When(Q(**{f"{name_field}__istartswith": search_text}), then=Value(1)),
        When(Q(**{f"{name_field}__icontains": search_text}), then=Value(2)),
        default=Value(3),
        output_field=IntegerField(),
    )
    return rows.order_by(quality, name_field)[:MAX_ROWS]


class Site(AdminSite):
    """The admin site. All pages, Django's included, pass through `admin_view`."""

    empty_value_display = DASH

    def admin_view(self, view: View, cacheable: bool = False) -> View:  # type: ignore[override]  # stubs: a type variable
        """Wrap a page: staff only, as in Django; malformed requests get 400; times are in the reader's time zone."""
        return super().admin_view(use_time_zone(reject_malformed_requests(view)), cacheable)

    def get_urls(self) -> list[Any]:
        """Return the URLs of the pages that the manifests declare, then those of the models."""
        page_urls = [path(page.path, self.admin_view(page.view), name=page.name) for page in manifest.get().pages]
        return page_urls + super().get_urls()

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Return the models by app, lazily: no page here reads them, and they take a fifth of a page's time."""
        return SimpleLazyObject(lambda: super(Site, self).get_app_list(request, app_label))

    def get_sidebar_list(self, request: HttpRequest) -> Any:
        """Return the sidebar as it was built. Unfold would copy it first, for each page."""
        config = self._get_config("SIDEBAR", request)  # type: ignore[attr-defined]  # unfold has no type hints
        return import_string(config["navigation"])(request)

    def each_context(self, request: HttpRequest) -> Any:
        """Return the context of every page, plus the current page's sidebar section, tab and page."""
        context: dict[str, Any] = dict(super().each_context(request))
        for section, tab, page in _iterate_pages(context):
            if page["active"]:
                context |= {"breadcrumb_section": section, "breadcrumb_tab": tab, "breadcrumb_page": page}
        return context

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show the results of "Go to": pages, rows of models with `go_to_order`, and what manifests find."""
        search_text = request.GET.get("s", "").strip()
        matches: list[Iterable[GoToResult]] = []
        if search_text:
            matches = [self._find_actions(request, search_text), self._find_pages(request, search_text)]
            matches += [self._find_rows(request, search_text)]
            matches += [find(request, search_text) for find in manifest.get().go_to_sources]
        results = sort_results(chain.from_iterable(matches), search_text)
        context = {"results": results, "search_text": search_text}
        return TemplateResponse(request, "console/go_to_results.html", context)

    def _find_pages(self, request: HttpRequest, search_text: str) -> Iterator[GoToResult]:
        for section, _, page in _iterate_pages(self.each_context(request)):
            if matched := find_matched_name(page["title"], page["keywords"], search_text):
                yield GoToResult(page["title"], section["title"], page["link"], order=0, matched=matched)

    def _find_actions(self, request: HttpRequest, search_text: str) -> Iterator[GoToResult]:
        for action in manifest.get().actions:
            matched = find_matched_name(action.title, action.keywords, search_text)
            if matched and request.user.has_perms(action.permissions):
                yield GoToResult(action.title, "action", reverse(f"{self.name}:{action.name}"), 0, matched)

    def _find_rows(self, request: HttpRequest, search_text: str) -> Iterator[GoToResult]:
        for model, page in self._registry.items():
            order = getattr(page, "go_to_order", None)
            if order is not None and page.has_view_or_change_permission(request):
                rows, may_have_duplicates = page.get_search_results(request, page.get_queryset(request), search_text)
                name = f"{self.name}:{model._meta.app_label}_{model._meta.model_name}_change"
                name_field = str(page.search_fields[0])
                for row in limit_rows(rows.distinct() if may_have_duplicates else rows, name_field, search_text):
                    title, description = page.get_go_to_texts(row)  # type: ignore[attr-defined]  # pages with an order are ours
                    yield GoToResult(
                        title,
                        description,
                        reverse(name, args=[row.pk]),
                        order,
                        is_text=page.go_to_is_text,  # type: ignore[attr-defined]
                    )


def _iterate_pages(context: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Yield each page of the sidebar with its section and tab."""
    for group in context.get("sidebar_navigation", ()):
        for section in group["items"]:
            for tab in section["tabs"]:
                for page in tab["pages"]:
                    yield section, tab, page


class SiteConfig(AdminConfig):
    """django.contrib.admin with our site class."""

    default_site = "core.admin.site.Site"


def use_time_zone(view: View) -> View:
    """Wrap a view so that it shows and reads times in the time zone of the browser, which its script stores."""

    @functools.wraps(view)
    def local_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        with timezone.override(read_time_zone(request)):
            return view(request, *args, **kwargs)

    return local_view


def read_time_zone(request: HttpRequest) -> ZoneInfo | None:
    """Return the time zone of the browser; None, which means UTC, if it is not known."""
    name = unquote(request.COOKIES.get(TIME_ZONE_COOKIE, ""))
    return ZoneInfo(name) if name in _list_time_zones() else None


@functools.cache
def _list_time_zones() -> set[str]:
    return available_timezones()  # reads hundreds of files


def reject_malformed_requests(view: View) -> View:
    """Wrap a view so that it answers 400 with a reason if the request holds values that its fields cannot take."""
    model: type[Model] | None = getattr(getattr(view, "__self__", None), "model", None)

    @functools.wraps(view)
    def guarded_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        problem = find_query_problem(request.GET)
        if not problem and model is not None:
            problem = (
                find_preset_problem(request.GET, model)
                or find_row_problem(request.GET, model)
                or find_row_problem(request.POST, model)
            )
        if problem:
            return _bad_request(problem)
        try:
            response = view(request, *args, **kwargs)
            # Render here: its queries run on rendering, and would otherwise fail outside of this try.
            return response.render() if isinstance(response, SimpleTemplateResponse) else response
        except exceptions.DisallowedModelAdminLookup:
            return _bad_request("The list cannot be filtered like this. Use its filters, or search.")
        except (ValidationError, SuspiciousOperation, OverflowError, DataError, NotSupportedError):
            # Only the query can tell whether some values are valid: an id in the path, a filter that no list offers.
            return _bad_request("A value in the request is not valid for its field. Go back and choose again.")

    return guarded_view


def find_query_problem(query: QueryDict) -> str:
    """Return what is wrong with the query parameters as a sentence, or "" if nothing is."""
    values = [value for _, several in query.lists() for value in several]
    if any("\x00" in text for text in (*query, *values)):
        return "The URL contains a NUL character. Remove it."
    if len(values) > MAX_VALUES or any(len(value) > MAX_VALUE_LENGTH for value in values):
        return f"The URL is too long. Send at most {MAX_VALUES} values of {MAX_VALUE_LENGTH} characters."
    if any(len(list(smart_split(query.get(name, "")))) > MAX_WORDS for name in SEARCH_PARAMETERS):
        return f"Search for at most {MAX_WORDS} words."
    if any(name.rpartition("__")[2] in REGEX_LOOKUPS for name in query):
        return "Lists cannot be filtered by regular expressions. Search for words."
    return ""


def find_preset_problem(query: QueryDict, model: type[Model]) -> str:
    """Return which field the query parameters cannot prefill, as a sentence, or ""."""
    # Django's date and time widget needs a datetime, and query parameters are text.
    names = [field.name for field in model._meta.fields if isinstance(field, DateTimeField) and field.name in query]
    return f"The URL cannot prefill {names[0]}. Remove it and use the form." if names else ""


def find_row_problem(data: QueryDict, model: type[Model]) -> str:
    """Return why a selected row of the model or of a related model cannot exist, as a sentence, or ""."""
    for key, value in _iter_selected_rows(data, model):
        try:
            key.clean(value, None)
        except ValidationError:
            return "A selected row does not exist: its id is malformed. Go back and choose again."
        if "\x00" in value:
            return "A selected row does not exist: its id contains a NUL character. Go back and choose again."
    return ""


def _iter_selected_rows(data: QueryDict, model: type[Model]) -> Iterator[tuple[Any, str]]:
    """Yield the primary key field and the submitted id of each row selected in a list or in a relation field."""
    for value in data.getlist(ACTION_CHECKBOX_NAME):
        yield model._meta.pk, value
    for field in (*model._meta.fields, *model._meta.many_to_many):
        if field.related_model is not None:
            for value in filter(None, data.getlist(field.name)):
                yield field.related_model._meta.pk, value


def _bad_request(sentence: str) -> HttpResponse:
    return HttpResponseBadRequest(sentence, content_type="text/plain; charset=utf-8")
