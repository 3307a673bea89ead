"""Parts of admin pages: the error page, filter chips, index pages and live previews."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.utils import quote, unquote
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.core.exceptions import FieldDoesNotExist, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.timezone import localtime, make_aware

from core.admin import base

# A page without scripts, wherever it is: other addresses outside of the console cannot load anything.
PLAIN_PAGE_POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
MAX_VALUE_LENGTH = 60  # characters of a value; its title has the rest

# What lookups in links mean, as words between a column's name and the value.
LOOKUP_WORDS = {"gte": "from", "lt": "before", "gt": "after", "isempty": "is empty", "year": "year", "month": "month"}
LOOKUP_WORDS |= {"day": "day", "exact": "", "isnull": "is missing"}
GUIDES_PAGE = "guides"  # URL names
SYSTEM_PAGE = "system"
MAX_BYTES = 500_000  # of a posted form. The largest op forms have 60,000; 1,000 subjects have 200,000


def is_browser(request: HttpRequest) -> bool:
    """Return whether a person's browser asked for a page. Below the prefixes of the API, everyone gets its errors."""
    return "text/html" in request.headers.get("Accept", "") and not request.path_info.startswith(settings.API_PREFIXES)


def render_error_page(request: HttpRequest, *, title: str, message: str, status: int) -> HttpResponse:
    """Return a page with the message and a link to the home page. In the console, it has the sidebar."""
    user = getattr(request, "user", None)
    is_staff = user is not None and user.is_active and user.is_staff
    is_in_admin = is_staff and request.path.startswith(reverse("admin:index"))
    template = "console/error.html" if is_in_admin else "console/plain_error.html"
    context = (admin.site.each_context(request) if is_in_admin else {}) | {"title": title, "message": message}
    response = render(request, template, context, status=status)
    if not is_in_admin:
        response.headers["Content-Security-Policy"] = PLAIN_PAGE_POLICY
    return response


@dataclass(frozen=True, slots=True)
class FilterChip:
    """A filter in words, and the URL of the page without it."""

    label: str
    value: str
    url: str

    @property
    def short_value(self) -> str:
        return self.value if len(self.value) <= MAX_VALUE_LENGTH else f"{self.value[:MAX_VALUE_LENGTH]}…"


def list_chips(changelist: ChangeList) -> list[FilterChip]:
    """Return a chip for each filter of a list: its search, its own filters, and others that links have set."""
    params: Mapping[str, Sequence[str]] = changelist.get_filters_params()
    chips: list[FilterChip] = []
    if changelist.query:
        chips.append(FilterChip("Search", changelist.query, _build_url_without(changelist, [SEARCH_VAR])))
    covered: set[str] = set()
    for spec in changelist.filter_specs:
        expected: list[Any] = [name for name in spec.expected_parameters() if name in params]
        if expected and (value := _describe_choice(spec, changelist)):
            covered.update(expected)
            chips.append(FilterChip(capfirst(str(spec.title)), value, _build_url_without(changelist, expected)))
    chips += _iter_other_chips(changelist, {name: params[name] for name in params if name not in covered})
    return chips


def _iter_other_chips(changelist: ChangeList, params: Mapping[str, Sequence[str]]) -> Iterator[FilterChip]:
    for parameter, values in params.items():
        name, _, lookup = parameter.partition("__")
        label = f"{_get_field_label(changelist, name)} {LOOKUP_WORDS.get(lookup, lookup)}".strip()
        value = ", ".join(map(_format_value, values))
        if not value:
            label, value = _get_field_label(changelist, name), "known" if lookup == "gt" else "none"
        yield FilterChip(label, value, _build_url_without(changelist, [parameter]))


def _build_url_without(changelist: ChangeList, parameters: Sequence[str]) -> str:
    return changelist.get_query_string(dict.fromkeys(parameters))


def _describe_choice(spec: Any, changelist: ChangeList) -> str:
    """Return the label of the chosen option; "" if the options do not have the value of the URL."""
    _all, *options = spec.choices(changelist)
    return next((str(option["display"]) for option in options if option["selected"]), "")


def _get_field_label(changelist: ChangeList, name: str) -> str:
    try:
        field = changelist.opts.get_field(name)
    except FieldDoesNotExist:
        return str(capfirst(name.replace("_", " ")))
    return str(capfirst(getattr(field, "verbose_name", name)))


def _format_value(value: str) -> str:
    try:
        time = parse_datetime(value)
    except ValueError:
        return value
    if not isinstance(time, datetime):
        return value
    return date_format(localtime(time if time.tzinfo else make_aware(time)), "j M Y, H:i e")


def render_index_page(request: HttpRequest) -> HttpResponse:
    """List the pages of the current tab, without those that the user cannot open."""
    context = admin.site.each_context(request)
    tab = context.get("breadcrumb_tab")
    if tab is None or "lists" not in tab:
        raise PermissionDenied
    return TemplateResponse(request, "console/index_page.html", context | {"title": tab["title"], "tab": tab})


class LivePreviewAdmin(base.ModelAdmin[Any]):
    """Admin page with a live preview. Its script posts the unsaved form to `preview_url` and shows the HTML."""

    preview_path: ClassVar[str]  # the last path segment of the preview's URL: .../preview/

    def render_preview(self, request: HttpRequest, row: Any) -> str:
        """Return the preview as HTML. `row` is the saved row, or None for a new one."""
        raise NotImplementedError

    def has_preview_permission(self, request: HttpRequest, row: Any) -> bool:
        """Return whether the user can see the preview: everyone who can save the form."""
        return self.has_change_permission(request, row) if row else self.has_add_permission(request)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.preview_view)
        preview_urls = [
            path(f"add/{self.preview_path}/", view, name=self._preview_url_name("add_")),
            path(f"<path:object_id>/{self.preview_path}/", view, name=self._preview_url_name()),
        ]
        return preview_urls + super().get_urls()

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        row = kwargs.get("obj")
        row = row if row is not None and row.pk is not None else None
        if self.has_preview_permission(request, row):
            name, url_args = (
                (self._preview_url_name(), [quote(row.pk)]) if row else (self._preview_url_name("add_"), [])
            )
            context["preview_url"] = reverse(f"admin:{name}", args=url_args)
        return super().render_change_form(request, context, *args, **kwargs)

    def preview_view(self, request: HttpRequest, object_id: str | None = None) -> HttpResponse:
        """Return the preview of the posted form. Saves nothing; invalid input is not an error."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BYTES:
            return HttpResponse("This form is too large for a live preview.", status=413)
        row = self.get_object(request, unquote(object_id)) if object_id is not None else None
        if row is None and object_id is not None:
            raise Http404("This row does not exist.")
        if not self.has_preview_permission(request, row):
            raise PermissionDenied
        return HttpResponse(self.render_preview(request, row))

    def bind_form(self, request: HttpRequest, row: Any) -> Any:
        """Return the page's form, bound to the posted data."""
        return self.get_form(request, row, change=row is not None)(request.POST, instance=row)

    def _preview_url_name(self, prefix: str = "") -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{prefix}{self.preview_path}"
