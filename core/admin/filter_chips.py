"""What a page is filtered by, each as a chip that removes it with one click."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.core.exceptions import FieldDoesNotExist
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.timezone import localtime

MAX_VALUE_LENGTH = 60  # characters of a value; its title has the rest
# What lookups in links mean, as words between a column's name and the value.
LOOKUP_WORDS = {"gte": "from", "lt": "before", "gt": "after", "isempty": "is empty", "year": "year", "month": "month"}
LOOKUP_WORDS |= {"day": "day", "exact": "", "isnull": "is missing"}


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
    """Return a chip for each filter of a list: its search, the filters beside it, and others that links have set."""
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
    return date_format(localtime(time) if time.tzinfo else time, "j M Y, H:i") if isinstance(time, datetime) else value
