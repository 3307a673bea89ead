"""What daily figures (OpDaily) sum, and the errors of arguments that they list."""

import re
from collections import Counter, defaultdict
from datetime import date
from typing import Any

from django.db.models import Count

from analytics.events.event_filters import FAILED_CALL
from analytics.rollups.models import OpDaily
from analytics.rollups.sums import Events, EventSums

MAX_FIELD_ERRORS = 20  # field errors per row; limited, since callers choose the names in them
SUMS = EventSums(
    model=OpDaily,
    period="day",
    dimensions=("release", "surface", "cohort", "model", "client"),
    conditions={
        "calls": "is_call",
        "invalid": "is_call AND code = 'VALIDATION_ERROR'",
        "denied": "is_call AND code = 'PERMISSION_DENIED'",
        "not_found": "is_call AND code = 'NOT_FOUND'",
        "conflict": "is_call AND code = 'CONFLICT'",
        "internal": "is_call AND code = 'INTERNAL'",
        "unknown_names": "is_unknown_name",
        "short_reads": "is_help AND format = 'short'",
        "full_reads": "is_help AND format = 'full'",
        "arg_reads": "is_help AND format = 'arg'",
        "list_reads": "is_help AND tool_name = ''",
        "searches": "is_search",
        "misses": "is_search AND result_count = 0",
    },
)
_LIST_INDEX = re.compile(r"/\d+(?=/|$)")

FieldErrors = Counter[tuple[str, str]]  # (pointer, code)


def add_field_errors(day: date, events: Events) -> None:
    """Add the field errors of events of a day to its rows, which exist already."""
    errors = _count_field_errors(events)
    stored = OpDaily.objects.filter(day=day, op__in={op for op, *_ in errors}, is_settled=True)
    changed = []
    for pk, known, *key in stored.values_list("pk", "field_errors", "op", *SUMS.dimensions):
        if added := errors.get(tuple(key)):
            counts = added + Counter({(pointer, code): times for pointer, code, times in known})
            changed.append(OpDaily(pk=pk, field_errors=_keep_most_common(counts)))
    OpDaily.objects.bulk_update(changed, ["field_errors"], batch_size=100)


def _count_field_errors(events: Events) -> dict[tuple[str, ...], FieldErrors]:
    """Return field error counts: {(op, release, surface, cohort, model, client): counts}."""
    counts: defaultdict[tuple[str, ...], FieldErrors] = defaultdict(Counter)
    failed: Any = events.filter(FAILED_CALL).exclude(field_errors=[]).order_by()
    fields = ("op", "tool_name", *SUMS.dimensions, "field_errors")
    groups = failed.values(*fields).annotate(times=Count("id"))
    for op, tool_name, *values, errors, times in groups.values_list(*fields, "times"):
        key = (op if tool_name else "", *values)
        # The same error in several items of a list counts once per call.
        for error in {(_LIST_INDEX.sub("/*", pointer), code) for pointer, code in errors}:
            counts[key][error] += times
    return counts


def _keep_most_common(errors: FieldErrors) -> list[list[Any]]:
    most_common = sorted(errors.items(), key=lambda each: (-each[1], each[0]))[:MAX_FIELD_ERRORS]
    return [[pointer, code, times] for (pointer, code), times in most_common]
