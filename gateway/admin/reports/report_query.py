"""The query string of a report: its period and its filters."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest
from django.utils import timezone
from unfold.widgets import UnfoldAdminSelectWidget

from analytics.reports import report_filter as scopes
from analytics.reports.report_filter import FILTER_FIELDS, NO_COHORT, PERIODS, ReportFilter

DEFAULT_DAYS = 28
MAX_ECHOED_CHARS = 60  # characters of an invalid value that are repeated on the page
NO_COHORT_LABEL = "No cohort (defaults)"


class ReportFilterForm(forms.Form):
    """The filters above a report. Values in the query string that are no choices are ignored and listed as errors."""

    days = forms.TypedChoiceField(
        label="Period",
        coerce=int,
        choices=[(days, f"Last {days} days") for days in PERIODS],
        required=False,
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, data: Mapping[str, Any], seen: Mapping[str, Sequence[str]], left_out: Sequence[str]) -> None:
        super().__init__({"days": DEFAULT_DAYS, **data})
        for name in FILTER_FIELDS:
            if name not in left_out:
                self.fields[name] = forms.ChoiceField(
                    choices=[("", "All"), *build_choices(name, seen[name])],
                    required=False,
                    widget=UnfoldAdminSelectWidget,
                )


def build_choices(name: str, values: Sequence[str]) -> list[tuple[str, str]]:
    """Return (value, label) of each choice of a filter."""
    return [
        *([(NO_COHORT, NO_COHORT_LABEL)] if name == "cohort" else []),
        *((value, label_value(name, value)) for value in values),
    ]


def label_value(name: str, value: str) -> str:
    """Return the label of a surface, cohort, release or model."""
    if name == "cohort" and value == NO_COHORT:
        return NO_COHORT_LABEL
    return (value[:12] if name == "release" else value) or "unknown"


class ReportQuery:
    """A parsed report request: the filter form, the scope, and links that keep the filters."""

    def __init__(self, request: HttpRequest, *, left_out: Sequence[str] = ()) -> None:
        at = timezone.now()
        self.seen_values = scopes.list_filter_values(at)
        self.params = request.GET
        submitted = ReportFilterForm(request.GET.dict(), self.seen_values, left_out)
        submitted.full_clean()
        self.filters = {name: value for name, value in submitted.cleaned_data.items() if value}
        self.form = ReportFilterForm(
            self.filters, self.seen_values, left_out
        )  # valid values only: the figures are about these
        self.unknown_filters = [f"{name} {submitted.data[name][:MAX_ECHOED_CHARS]}" for name in submitted.errors]
        self.scope = ReportFilter(at, **self.filters)

    def build_query_string(self, **more: Any) -> str:
        """Return a query string with the same filters and with `more`."""
        return "?" + urlencode({**self.filters, **more})
