"""The arguments of an op by hand: a row for each, and what is wrong with them in the words of the page."""

import json
from collections.abc import Iterator
from typing import Any, cast

from django import forms
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget, UnfoldBooleanWidget

from console.copy.hand_made_ops import ARGUMENT_TYPES, PLACES, HandMadeArgument
from core.text import json_text
from registry.request_mapping import is_header_allowed

EMPTY_ROWS = 3
MAX_ROWS = 50


class ArgumentForm(forms.Form):
    """One argument: its name, where it goes, its type and a value for the test call."""

    name = forms.RegexField(
        r"\A[A-Za-z0-9_.-]{1,64}\Z",
        error_messages={
            "invalid": "Use 1 to 64 letters, digits, dots, dashes and underscores.",
            "required": "Enter a name, or remove the row.",
        },
        widget=UnfoldAdminTextInputWidget,
    )
    place = forms.ChoiceField(label="Goes into", choices=PLACES, initial=PLACES[0][0], widget=UnfoldAdminSelectWidget)
    type = forms.ChoiceField(
        choices=[(name, name) for name in ARGUMENT_TYPES], initial=ARGUMENT_TYPES[0], widget=UnfoldAdminSelectWidget
    )
    is_required = forms.BooleanField(required=False, label="Required", widget=UnfoldBooleanWidget)
    description = forms.CharField(required=False, max_length=300, widget=UnfoldAdminTextInputWidget)
    value = forms.CharField(label="Example", required=False, max_length=2000, widget=UnfoldAdminTextInputWidget)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.fields:
            self.fields[name].widget.attrs["aria-label"] = self[name].label

    @property
    def is_removed(self) -> bool:
        """Whether the row was removed on the page."""
        return self.is_bound and bool(self.data.get(self.add_prefix("DELETE")))

    def clean(self) -> dict[str, Any]:
        """Read the example value as the type says."""
        cleaned = super().clean() or {}
        if cleaned.get("value") and cleaned.get("type"):
            try:
                cleaned["parsed"] = _parse_value(cleaned["value"], cleaned["type"])
            except ValueError:
                self.add_error("value", f"This is no {cleaned['type']}.")
        if cleaned.get("place") == "header" and cleaned.get("name") and not is_header_allowed(cleaned["name"]):
            self.add_error("name", f"No argument may set the header {cleaned['name']}.")
        return cleaned

    def build_argument(self) -> HandMadeArgument:
        """Return the argument of a valid row."""
        row = self.cleaned_data
        return HandMadeArgument(
            row["name"], row["place"], row["type"], row["is_required"], row["description"], row.get("parsed")
        )


class BaseArgumentFormSet(forms.BaseFormSet[ArgumentForm]):
    """The rows. Those that nobody filled in, and those that were removed, are no arguments."""

    def list_rows(self) -> list[ArgumentForm]:
        """Return the rows that are arguments."""
        return [row for row in self.forms if row.has_changed() and not row.is_removed]

    def check_with_address(self, placeholders: frozenset[str]) -> bool:
        """Return whether valid rows fit together and fit the names in the address. Errors are added to the rows."""
        numbers: dict[str, int] = {}
        for number, row in self._iterate_numbered():
            if row not in self.list_rows():
                continue
            name, is_in_address = row.cleaned_data["name"], row.cleaned_data["name"] in placeholders
            if name in numbers:
                row.add_error("name", f"Argument {numbers[name]} has this name. Choose another one.")
            if row.cleaned_data["place"] == "path" and not is_in_address:
                row.add_error("place", f"The address has no {{{name}}}. Write it there, or choose another place.")
            if (is_in_address or row.cleaned_data["is_required"]) and not row.cleaned_data["value"]:
                row.add_error("value", "Enter one: a test call needs all required arguments.")
            numbers.setdefault(name, number)
        return not any(row.errors for row in self.list_rows())

    def list_errors(self) -> list[str]:
        """Return what is wrong, each with the number and the label as the page shows them."""
        if not self.is_bound:
            return []
        found = [str(text) for text in self.non_form_errors()]
        for number, row in self._iterate_numbered():
            for name, texts in row.errors.items():
                label = f", {row[name].label}" if name in row.fields else ""
                found += [f"Argument {number}{label}: {text}" for text in texts]
        return found

    def _iterate_numbered(self) -> Iterator[tuple[int, ArgumentForm]]:
        yield from enumerate((row for row in self.forms if not row.is_removed), start=1)


ArgumentFormSet = cast(
    type[BaseArgumentFormSet],
    forms.formset_factory(
        ArgumentForm,
        formset=BaseArgumentFormSet,
        extra=EMPTY_ROWS,
        max_num=MAX_ROWS,
        absolute_max=MAX_ROWS,
        can_delete=True,
    ),
)


def _parse_value(text: str, type: str) -> Any:
    if type == "string":
        return text
    value = json_text.parse(text.encode(), json_text.CONTENT_LIMITS)
    kinds: dict[str, Any] = {"integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}
    if not isinstance(value, kinds[type]) or (isinstance(value, bool) and type != "boolean"):
        raise ValueError(json.dumps(value)[:20])
    return value
