"""What the admin's pages are made of: base classes of models' pages, of inlines and of forms, in one look.

JSON is taken as strictly as the API takes it and edited indented; a sentence is edited in a line as wide as text is.
"""

from typing import TYPE_CHECKING, Any, TypeVar

from django import forms
from django.contrib.admin.options import BaseModelAdmin
from django.db.models import CharField, JSONField, Model, TextField
from django.http import HttpRequest, HttpResponse
from django.templatetags.static import static
from unfold.forms import ActionForm
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from core.forms import PlainTextField, StrictJSONField

if TYPE_CHECKING:  # unfold ships no types; what it derives from has them
    from django.contrib.admin import ModelAdmin as BaseAdmin
    from django.contrib.admin import StackedInline as BaseStacked
    from django.contrib.admin import TabularInline as BaseTabular
else:
    from unfold.admin import ModelAdmin as BaseAdmin
    from unfold.admin import StackedInline as BaseStacked
    from unfold.admin import TabularInline as BaseTabular

Row = TypeVar("Row", bound=Model)
Parent = TypeVar("Parent", bound=Model)

LONG = 200  # characters of a column that holds a sentence

LINE = UnfoldAdminTextInputWidget(attrs={"class": "desk-line"})
JSON = UnfoldAdminTextareaWidget(attrs={"class": "desk-json", "rows": 8, "spellcheck": "false"})

LINES = UnfoldAdminTextareaWidget(attrs={"class": "desk-json", "rows": 4, "spellcheck": "false"})

FIELDS: dict[Any, dict[str, Any]] = {
    JSONField: {"form_class": StrictJSONField, "widget": JSON},
    TextField: {"form_class": PlainTextField, "widget": UnfoldAdminTextareaWidget},
}


class Desk(BaseModelAdmin[Row]):
    """How fields of any page or inline are edited."""

    formfield_overrides = FIELDS

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return a column's form field, in a long line where it holds a sentence."""
        if isinstance(db_field, CharField) and (db_field.max_length or 0) >= LONG and not db_field.choices:
            kwargs.setdefault("widget", LINE)
        return super().formfield_for_dbfield(db_field, request, **kwargs)


class ModelAdmin(Desk[Row], BaseAdmin[Row]):
    """A model's pages."""

    empty: str  # what to do where the list has no rows, as a sentence
    is_gone_to = False  # whether "Go to" in the sidebar offers its rows
    has_history = True  # whether a row's page leads to what was changed of it
    warn_unsaved_form = True
    list_filter_sheet = False
    list_per_page = 50

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show a row's page, with the way to its history where there is one."""
        context["show_history"] = self.has_history
        return super().render_change_form(request, context, *args, **kwargs)


class TabularInline(Desk[Row], BaseTabular[Row, Parent]):
    """Rows of another model, a line each, on a row's page. Columns have headings, fields a name for screen readers."""

    extra = 0

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return a column's form field, with its name on its widget."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None:
            getattr(field.widget, "widget", field.widget).attrs.setdefault("aria-label", field.label)
        return field


class StackedInline(Desk[Row], BaseStacked[Row, Parent]):
    """Rows of another model, a block each, on a row's page."""

    extra = 0


class ReadOnly:
    """Pages of rows that services own: looked at, never made, changed or deleted by hand, and so without a history."""

    has_history = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody makes them here."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody changes them here."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes them here."""
        return False


class ReasonForm(ActionForm):  # type: ignore[misc]  # unfold ships no types
    """The bar of actions with a line for the reason."""

    reason = forms.CharField(
        required=False,
        max_length=200,
        label="",
        widget=UnfoldAdminTextInputWidget(attrs={"aria-label": "Reason", "placeholder": "Reason"}),
    )


def stylesheet(_: HttpRequest) -> str:
    """Return the address of what pages need beside unfold's stylesheet."""
    return static("desk/desk.css")


def script(_: HttpRequest) -> str:
    """Return the address of what pages need beside unfold's scripts."""
    return static("desk/desk.js")


def icon(_: HttpRequest) -> str:
    """Return the address of the site's icon."""
    return static("desk/icon.svg")
