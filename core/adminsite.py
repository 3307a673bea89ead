"""The admin's site: it refuses requests that no page of it makes with a sentence, before a database fails on them."""

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.admin.apps import AdminConfig
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import SuspiciousOperation, ValidationError
from django.db import DataError, NotSupportedError
from django.db.models import DateTimeField, Model
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.urls import path, reverse
from django.utils.functional import SimpleLazyObject
from django.utils.module_loading import import_string
from django.utils.text import smart_split

if TYPE_CHECKING:  # unfold ships no types; its site is Django's in another look
    from django.contrib.admin import AdminSite
else:
    from unfold.sites import UnfoldAdminSite as AdminSite

MAX_WORDS = 20  # of a search; SQLite gives up at 1,000 conditions, and each word is one for each searched column
MAX_LENGTH = 10_000  # characters of one value in an address; SQLite's LIKE gives up at 50,000 bytes
MAX_VALUES = 100  # in one address
GONE_TO = 10  # rows of a model that "Go to" offers

SEARCHES = ("q", "term", "s")  # of a list, of an autocomplete, of the sidebar
PATTERNS = ("regex", "iregex")  # would run whatever expression an address holds, for as long as it takes

View = Callable[..., HttpResponseBase]


class Site(AdminSite):
    """The admin's site, with one door for all pages of all models, those of its own apps too."""

    def admin_view(self, view: View, cacheable: bool = False) -> View:  # type: ignore[override]  # stubs: a type variable
        """Wrap a page: staff only, as in Django, and odd requests answered 400."""
        return super().admin_view(guarded(view), cacheable)

    def get_urls(self) -> list[Any]:
        """Return all pages: those of models, and before them those that are named in ADMIN_PAGES."""
        own = [
            path(address, self.admin_view(import_string(view)), name=name)
            for name, (address, view) in settings.ADMIN_PAGES.items()
        ]
        return own + super().get_urls()

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> Any:
        """Return the models by app, put together when read: no page here does, and it is a fifth of a page's time."""
        return SimpleLazyObject(lambda: super(Site, self).get_app_list(request, app_label))

    def each_context(self, request: HttpRequest) -> Any:
        """Return what every page needs, with where it stands: the job and the entry of the sidebar that lead there."""
        context: dict[str, Any] = dict(super().each_context(request))
        for section in context.get("sidebar_navigation", ()):
            for item in section["items"]:
                if item["active"]:
                    context |= {"job": section["title"], "place": item}
        return context

    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Answer "Go to": the sidebar's entries with these words, then rows of models that are gone to."""
        typed = request.GET.get("s", "").strip()
        found = [*self._pages(request, typed), *self._rows(request, typed)] if typed else []
        return TemplateResponse(request, "desk/found.html", {"found": found})

    def _pages(self, request: HttpRequest, typed: str) -> Iterator[dict[str, Any]]:
        for section in self.each_context(request)["sidebar_navigation"]:
            for item in section["items"]:
                if typed.casefold() in item["title"].casefold():
                    yield {"title": item["title"], "description": section["title"], "link": item["link"]}

    def _rows(self, request: HttpRequest, typed: str) -> Iterator[dict[str, Any]]:
        for model, page in self._registry.items():
            if getattr(page, "is_gone_to", False) and page.has_view_or_change_permission(request):
                rows, is_doubled = page.get_search_results(request, page.get_queryset(request), typed)
                name = f"{self.name}:{model._meta.app_label}_{model._meta.model_name}_change"
                for row in (rows.distinct() if is_doubled else rows)[:GONE_TO]:
                    yield {"title": row, "description": model._meta.verbose_name, "link": reverse(name, args=[row.pk])}


class SiteConfig(AdminConfig):
    """django.contrib.admin with this site."""

    default_site = "core.adminsite.Site"


def guarded(view: View) -> View:
    """Return the view answering 400 with a sentence where a request holds what its fields cannot take."""
    model: type[Model] | None = getattr(getattr(view, "__self__", None), "model", None)

    @functools.wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        problem = odd_text(request.GET)
        if not problem and model is not None:
            problem = odd_preset(request.GET, model) or odd_row(request.GET, model) or odd_row(request.POST, model)
        if problem:
            return _refused(problem)
        try:
            response = view(request, *args, **kwargs)
            # Its queries run when it is rendered, which would be after this frame.
            return response.render() if isinstance(response, SimpleTemplateResponse) else response
        except (ValidationError, SuspiciousOperation, OverflowError, DataError, NotSupportedError):
            # Left are values whose fit only their query tells: an id in the path, a filter of a kind no list offers.
            return _refused("The request holds a value that its field cannot take. Go back and choose again.")

    return inner


def odd_text(query: QueryDict) -> str:
    """Return what is wrong with the values of an address as a sentence, or nothing."""
    values = [value for _, several in query.lists() for value in several]
    if any("\x00" in text for text in (*query, *values)):
        return "The address holds a NUL character. Leave it out."
    if len(values) > MAX_VALUES or any(len(value) > MAX_LENGTH for value in values):
        return f"The address is too long. Send at most {MAX_VALUES} values of {MAX_LENGTH} characters."
    if any(len(list(smart_split(query.get(name, "")))) > MAX_WORDS for name in SEARCHES):
        return f"Search for at most {MAX_WORDS} words."
    if any(name.rpartition("__")[2] in PATTERNS for name in query):
        return "Lists are not filtered by regular expressions. Search for words."
    return ""


def odd_preset(query: QueryDict, model: type[Model]) -> str:
    """Return which field of a model an address cannot fill in, as a sentence, or nothing."""
    # Django's widget of a date and a time takes a datetime, and an address holds text.
    names = [field.name for field in model._meta.fields if isinstance(field, DateTimeField) and field.name in query]
    return f"The address cannot fill in {names[0]}. Leave it out and use the form." if names else ""


def odd_row(data: QueryDict, model: type[Model]) -> str:
    """Return why a chosen row of a model, or of one that it points to, cannot exist, as a sentence, or nothing."""
    for key, value in _rows_named(data, model):
        try:
            key.clean(value, None)
        except ValidationError:
            return "A chosen row cannot exist: its id has another form. Go back and choose again."
        if "\x00" in value:
            return "A chosen row cannot exist: its id holds a NUL character. Go back and choose again."
    return ""


def _rows_named(data: QueryDict, model: type[Model]) -> Iterator[tuple[Any, str]]:
    """Yield the primary key and the value of each row that is chosen in a list or in a relation's field."""
    for value in data.getlist(ACTION_CHECKBOX_NAME):
        yield model._meta.pk, value
    for field in (*model._meta.fields, *model._meta.many_to_many):
        if field.related_model is not None:
            for value in filter(None, data.getlist(field.name)):
                yield field.related_model._meta.pk, value


def _refused(sentence: str) -> HttpResponse:
    return HttpResponseBadRequest(sentence, content_type="text/plain; charset=utf-8")
