"""The query string of a report: its period and its filters."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.utils import timezone
from unfold.widgets import UnfoldAdminSelectWidget

from analytics.reports import scope as scopes
from analytics.reports.scope import NONE, PERIODS, UNDER, Scope

DAYS = 28
MAX_TOLD = 60  # characters of an invalid value that are repeated on the page
NO_COHORT = "No cohort (defaults)"


class ScopeForm(forms.Form):
    """The filters above a report. Values in the query string that are no choices are ignored and listed as errors."""

    days = forms.TypedChoiceField(
        label="Period",
        coerce=int,
        choices=[(days, f"Last {days} days") for days in PERIODS],
        required=False,
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, data: Mapping[str, Any], seen: Mapping[str, Sequence[str]], left_out: Sequence[str]) -> None:
        super().__init__({"days": DAYS, **data})
        for name in UNDER:
            if name not in left_out:
                self.fields[name] = forms.ChoiceField(
                    choices=[("", "All"), *choices(name, seen[name])], required=False, widget=UnfoldAdminSelectWidget
                )


def choices(name: str, values: Sequence[str]) -> list[tuple[str, str]]:
    """Return (value, label) of each choice of a filter."""
    return [*([(NONE, NO_COHORT)] if name == "cohort" else []), *((value, called(name, value)) for value in values)]


def called(name: str, value: str) -> str:
    """Return the label of a surface, cohort, release or model."""
    if name == "cohort" and value == NONE:
        return NO_COHORT
    return (value[:12] if name == "release" else value) or "unknown"


class Asked:
    """A parsed report request: the filter form, the scope, and links that keep the filters."""

    def __init__(self, request: HttpRequest, *, left_out: Sequence[str] = ()) -> None:
        at = timezone.now()
        self.seen = scopes.seen(at)
        self.query = request.GET
        asked = ScopeForm(request.GET.dict(), self.seen, left_out)
        asked.full_clean()
        self.filters = {name: value for name, value in asked.cleaned_data.items() if value}
        self.form = ScopeForm(self.filters, self.seen, left_out)  # valid values only: the figures are about these
        self.unheard_of = [f"{name} {asked.data[name][:MAX_TOLD]}" for name in asked.errors]
        self.scope = Scope(at, **self.filters)

    def address(self, **more: Any) -> str:
        """Return a query string with the same filters and with `more`."""
        return "?" + urlencode({**self.filters, **more})
