"""What daily figures (OpDaily) sum, and the errors of arguments that they list."""

import json
import re
from collections import defaultdict
from datetime import date
from functools import cache
from typing import Any

from django.db import connection

from analytics.events.counted_events import TABLE, CountedRows
from analytics.rollups.models import OpDaily
from analytics.rollups.sums import EventSums

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
        "list_reads": "is_list",
        "searches": "is_search",
        "misses": "is_search AND result_count = 0",
    },
)
_TABLE = OpDaily._meta.db_table
# Rows and their field errors as one parameter: [[id, [[pointer, code, times], …]], …]. 800 parameters take 20 ms.
_SET_FIELD_ERRORS = {
    vendor: f"UPDATE {_TABLE} SET field_errors = {value} FROM {rows} WHERE {_TABLE}.id = {row_id}"  # noqa: S608 - our names
    for vendor, rows, row_id, value in (
        ("postgresql", "jsonb_array_elements(%s::jsonb) AS row", "(row->0)::bigint", "row->1"),
        ("sqlite", "json_each(%s) AS row", "json_extract(row.value, '$[0]')", "json_extract(row.value, '$[1]')"),
    )
}
_LIST_INDEX = re.compile(r"/\d+(?=/|$)")

FieldErrors = dict[tuple[str, str], int]  # by (pointer, code)


def add_field_errors(day: date, rows: CountedRows) -> None:
    """Add the field errors of counted events of a day to its rows, which exist already."""
    errors = _count_field_errors(rows)
    stored = OpDaily.objects.filter(day=day, op__in={op for op, *_ in errors}, is_settled=True)
    changed = []
    for pk, known, *key in stored.values_list("pk", "field_errors", "op", *SUMS.dimensions):
        if counts := errors.get(tuple(key)):
            for pointer, code, times in known:
                counts[pointer, code] = counts.get((pointer, code), 0) + times
            changed.append([pk, _keep_most_common(counts)])
    with connection.cursor() as cursor:
        cursor.execute(_SET_FIELD_ERRORS[connection.vendor], [json.dumps(changed)])


def _count_field_errors(rows: CountedRows) -> dict[tuple[str, ...], FieldErrors]:
    """Return field error counts: {(op, release, surface, cohort, model, client): counts}."""
    counts: defaultdict[tuple[str, ...], FieldErrors] = defaultdict(dict)
    fields = ", ".join(map(connection.ops.quote_name, ("named", *SUMS.dimensions, "field_errors")))
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {fields}, count(*) FROM {TABLE} "  # noqa: S608 - the names are ours
            f"WHERE field_errors IS NOT NULL AND {rows.condition} GROUP BY {fields}",
            rows.parameters,
        )
        groups = cursor.fetchall()
    read_errors = cache(_read_errors)  # most of them are alike
    for *key, errors, times in groups:
        of_key = counts[tuple(key)]
        for error in read_errors(errors):
            of_key[error] = of_key.get(error, 0) + times
    return counts


def _read_errors(text: str) -> set[tuple[str, str]]:
    """Return the field errors of a call. The same error in several items of a list counts once."""
    return {(_LIST_INDEX.sub("/*", pointer), code) for pointer, code in json.loads(text)}


def _keep_most_common(errors: FieldErrors) -> list[list[Any]]:
    most_common = sorted(errors.items(), key=lambda each: (-each[1], each[0]))[:MAX_FIELD_ERRORS]
    return [[pointer, code, times] for (pointer, code), times in most_common]
