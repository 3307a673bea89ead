"""Base classes of the console's pages, inlines and forms, which give all of them the same look.

JSON fields accept what the API accepts and are edited with indentation. Long text columns get a full-width input.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from django import forms
from django.contrib.admin import EmptyFieldListFilter, SimpleListFilter
from django.contrib.admin.options import BaseModelAdmin
from django.contrib.admin.utils import get_fields_from_path
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.db.models import CharField, DateTimeField, ForeignKey, IntegerField, JSONField, Model, TextField
from django.http import HttpRequest, HttpResponse
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.forms import ActionForm
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from core.admin.form_fields import LinesField, PlainTextField, StrictJSONField
from core.text.display import DASH, describe_actor, format_seconds, format_time_with_utc

if TYPE_CHECKING:  # unfold has no type hints; Django's classes stand in for it
    from django.contrib.admin import ModelAdmin as BaseAdmin
    from django.contrib.admin import StackedInline as BaseStacked
    from django.contrib.admin import TabularInline as BaseTabular
else:
    from unfold.admin import ModelAdmin as BaseAdmin
    from unfold.admin import StackedInline as BaseStacked
    from unfold.admin import TabularInline as BaseTabular

Row = TypeVar("Row", bound=Model)
Parent = TypeVar("Parent", bound=Model)

LONG_TEXT_LENGTH = 200  # characters; a column of this length or more gets a full-width input

FILTER_LOOKUPS = ("exact", "isnull", "gte", "lt")  # that Django's filters of a column put into the URL
ACTOR_NAME = re.compile(r"(^|_)by$|^owner$")  # the name of a column with who did something
DATE_LOOKUPS = ("year", "month", "day", "gte", "lt")  # that its date hierarchies do

LINE_WIDGET = UnfoldAdminTextInputWidget(attrs={"class": "ui-wide-input"})
JSON_WIDGET = UnfoldAdminTextareaWidget(
    attrs={"class": "ui-code", "rows": 8, "spellcheck": "false", "data-json": ""}  # json_editor.js offers to format it
)

LINES_WIDGET = UnfoldAdminTextareaWidget(attrs={"class": "ui-code", "rows": 4, "spellcheck": "false"})

FORMFIELD_OVERRIDES: dict[Any, dict[str, Any]] = {
    JSONField: {"form_class": StrictJSONField, "widget": JSON_WIDGET},
    TextField: {"form_class": PlainTextField, "widget": UnfoldAdminTextareaWidget},
}


class FormFieldMixin(BaseModelAdmin[Row]):
    """Form fields and widgets for any page or inline."""

    formfield_overrides = FORMFIELD_OVERRIDES
    line_lists: Mapping[str, int] = {}  # JSON columns that are lists of texts, edited one per line: {name: max_length}

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return a column's form field, with a full-width input for a long text column."""
        if db_field.name in self.line_lists:
            kwargs |= {"form_class": LinesField, "longest": self.line_lists[db_field.name], "widget": LINES_WIDGET}
            kwargs["help_text"] = f"{db_field.help_text} One per line.".strip()
        if isinstance(db_field, CharField) and (db_field.max_length or 0) >= LONG_TEXT_LENGTH and not db_field.choices:
            kwargs.setdefault("widget", LINE_WIDGET)
        return super().formfield_for_dbfield(db_field, request, **kwargs)


@cache
def build_time_column(field: "DateTimeField[Any, Any]", *, with_seconds: bool) -> Callable[[Model], SafeString]:
    """Return the column of a list for a time. The same arguments give the same column, so that it can be sorted by."""

    def show_time(row: Model) -> SafeString:
        time = getattr(row, field.name)
        if time is None:
            return DASH
        return format_html(
            '<time datetime="{}" title="{}">{}</time>',
            time.isoformat(),
            format_time_with_utc(time),
            format_seconds(time) if with_seconds else naturaltime(time),
        )

    show_time.__name__ = field.name  # the class of the column
    show_time.short_description = field.verbose_name  # type: ignore[attr-defined]  # Django reads it
    show_time.admin_order_field = field.name  # type: ignore[attr-defined]
    return show_time


@cache
def build_count_column(field: "IntegerField[Any, Any]") -> Callable[[Model], str]:
    """Return the column of a list for a whole number, with separators."""

    def show_count(row: Model) -> str:
        count = getattr(row, field.name)
        return DASH if count is None else f"{count:,}"

    show_count.__name__ = field.name
    show_count.short_description = field.verbose_name  # type: ignore[attr-defined]
    show_count.admin_order_field = field.name  # type: ignore[attr-defined]
    return show_count


@cache
def build_actor_column(field: Any) -> Callable[[Model], str]:
    """Return the column of a list for who did something."""

    def show_actor(row: Model) -> str:
        return describe_actor(getattr(row, field.name)) or DASH

    show_actor.__name__ = field.name
    show_actor.short_description = field.verbose_name  # type: ignore[attr-defined]
    show_actor.admin_order_field = field.name  # type: ignore[attr-defined]
    return show_actor


class ModelAdmin(FormFieldMixin[Row], BaseAdmin[Row]):
    """Base class of a model's admin pages."""

    empty: str  # a sentence for an empty list: what to do to get rows
    link_lookups: Sequence[str] = ()  # lookups that links to its list use, besides those of its filters
    # For models that "Go to" in the sidebar searches: their place among equally good matches, lowest first. Their first
    # search field must be the name.
    go_to_order: int | None = None
    go_to_is_text = False  # whether the titles of its rows are texts, which come after all names
    has_history = True  # whether a row's page links to its history
    warn_unsaved_form = True
    list_filter_sheet = False
    list_per_page = 50
    shows_seconds = False  # whether the list shows times to the second, and not how long ago they were

    def get_go_to_texts(self, row: Row) -> tuple[str, str]:
        """Return the name of a row in the results of "Go to", and what it is."""
        return str(row), str(self.opts.verbose_name)

    def get_list_display(self, request: HttpRequest) -> Any:
        """Return the columns of the list: times in words, counts with separators, and set-up commands as one actor."""
        return [self._replace_column(name) for name in super().get_list_display(request)]

    def _replace_column(self, name: Any) -> Any:
        field = next((field for field in self.model._meta.fields if field.name == name), None)
        if isinstance(field, DateTimeField):
            return build_time_column(field, with_seconds=self.shows_seconds)
        if isinstance(field, IntegerField) and not (field.primary_key or field.choices):
            return build_count_column(field)
        return build_actor_column(field) if field is not None and ACTOR_NAME.search(field.name) else name

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Return whether a URL can filter the list by a lookup: one of its filters or of our links.

        Django allows every column. Then a user who sees the list could guess a column that no page shows, by comparing
        it with one text after another: secret_hash__startswith.
        """
        return lookup in self.link_lookups or lookup in self._iter_filter_lookups(request)

    def _iter_filter_lookups(self, request: HttpRequest) -> Iterator[str]:
        list_filters: Any = self.get_list_filter(request)
        for list_filter in list_filters:
            if isinstance(list_filter, type) and issubclass(list_filter, SimpleListFilter):
                yield list_filter.parameter_name or ""
                continue
            path, filter_class = list_filter if isinstance(list_filter, tuple) else (list_filter, None)
            if isinstance(filter_class, type) and issubclass(filter_class, EmptyFieldListFilter):
                yield f"{path}__isempty"
                continue
            yield path
            yield from (f"{path}__{lookup}" for lookup in FILTER_LOOKUPS)
            if isinstance(field := get_fields_from_path(self.model, path)[-1], ForeignKey):
                yield f"{path}__{field.target_field.name}__exact"
        if self.date_hierarchy:
            yield from (f"{self.date_hierarchy}__{lookup}" for lookup in DATE_LOOKUPS)

    def get_inline_formsets(self, *args: Any, **kwargs: Any) -> Any:
        """Return the inlines, whose button says "Add rule" and not "Add another Rule", as Django would."""
        formsets = super().get_inline_formsets(*args, **kwargs)
        for each in formsets:
            data = json.loads(each.inline_formset_data())
            data["options"]["addText"] = f"Add {each.opts.verbose_name}"
            each.inline_formset_data = partial(json.dumps, data)
        return formsets

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show a row's page, with a link to its history if `has_history`."""
        context["show_history"] = self.has_history
        context["show_save_and_add_another"] = False
        return super().render_change_form(request, context, *args, **kwargs)


class TabularInline(FormFieldMixin[Row], BaseTabular[Row, Parent]):
    """Inline with one line per row. Each field has an aria-label, since only the columns have visible headings."""

    extra = 0

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return a column's form field, with its label as the widget's aria-label."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None:
            getattr(field.widget, "widget", field.widget).attrs.setdefault("aria-label", field.label)
        return field


class StackedInline(FormFieldMixin[Row], BaseStacked[Row, Parent]):
    """Inline with one block per row."""

    extra = 0


class ReadOnlyMixin:
    """Admin mixin for rows that services own: users can only view them, so they have no history."""

    has_history = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReasonForm(ActionForm):  # type: ignore[misc]  # unfold has no type hints
    """Action bar of a list, with an input for the reason."""

    reason = forms.CharField(
        required=False,
        max_length=200,
        label="",
        widget=UnfoldAdminTextInputWidget(attrs={"aria-label": "Reason", "placeholder": "Reason"}),
    )


def get_stylesheet_url(_: HttpRequest) -> str:
    """Return the URL of our additions to unfold's stylesheet."""
    return static("console/admin.css")


def get_accessibility_script_url(_: HttpRequest) -> str:
    """Return the URL of our fixes of unfold's accessibility."""
    return static("console/accessibility.js")


def get_alpine_script_url(_: HttpRequest) -> str:
    """Return the URL of the script that lets unfold's pages work without evaluating code."""
    return static("console/alpine.js")


def get_time_zone_script_url(_: HttpRequest) -> str:
    """Return the URL of the script that stores the reader's time zone."""
    return static("console/time_zone.js")


def get_save_script_url(_: HttpRequest) -> str:
    """Return the URL of the script that saves a form with Ctrl+S."""
    return static("console/save_shortcut.js")


def get_go_to_script_url(_: HttpRequest) -> str:
    """Return the URL of our additions to unfold's "Go to"."""
    return static("console/go_to.js")


def get_icon_url(_: HttpRequest) -> str:
    """Return the URL of the site's icon."""
    return static("console/icon.svg")
