"""A form field to choose an op of the draft by typing a part of its path."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect

from registry.models import Op, OpAlias

MAX_KEY_LENGTH = 19  # digits of a key that databases can look up


class OpPathField(forms.ModelChoiceField):  # type: ignore[type-arg]  # its value is a path
    """A choice of an op of the draft, found by typing a part of its path. The value is the path."""

    def __init__(self, *, site: admin.AdminSite, **kwargs: Any) -> None:
        # An alias refers to an op, so its field knows how to look for one.
        widget = AutocompleteSelect(OpAlias._meta.get_field("op"), site)
        super().__init__(Op.objects.all(), widget=widget, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        """Return the primary key of the op with a path. Typed values are primary keys, or are dropped."""
        if not isinstance(value, str) or (value.isascii() and value.isdigit() and len(value) < MAX_KEY_LENGTH):
            return value
        return Op.objects.filter(op=value.replace("\0", "")).values_list("pk", flat=True).first()

    def clean(self, value: Any) -> str:
        return str(super().clean(value).op)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return str(self.prepare_value(initial) or "") != str(data or "")
