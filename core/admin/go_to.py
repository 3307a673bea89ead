""" "Go to": find pages and rows by name, best match first."""

import re
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, NamedTuple

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When

MAX_ROWS = 10  # rows per model

_PARTS = re.compile(r"[\s._\-]+")


class NameMatch(IntEnum):
    """How well a name matches the search text, best first."""

    WHOLE = 0
    BEGINNING = 1
    BEGINNING_OF_PART = 2  # of a dotted path, or of a word
    INSIDE = 3
    ELSEWHERE = 4  # the text was found in another column, such as the summary


class GoToResult(NamedTuple):
    """A page or a row. `order` decides between equally good matches, lowest first."""

    title: str
    description: str
    link: str
    order: int


def sort_results(results: Iterable[GoToResult], search_text: str) -> list[GoToResult]:
    """Return the results, best match first."""
    return sorted(results, key=lambda each: (match_name(each.title, search_text), each.order, each.title))


def match_name(name: str, search_text: str) -> NameMatch:
    """Return how well a name matches the search text."""
    name, text = name.casefold(), search_text.casefold()
    if name == text:
        return NameMatch.WHOLE
    if name.startswith(text):
        return NameMatch.BEGINNING
    if any(part.startswith(text) for part in _PARTS.split(name)):
        return NameMatch.BEGINNING_OF_PART
    is_inside = all(word in name for word in text.split())
    return NameMatch.INSIDE if is_inside else NameMatch.ELSEWHERE


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
