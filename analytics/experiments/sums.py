"""Sum a metric over the subjects of a side, in the database: what `statistics` needs, and nothing else, is read."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations_with_replacement
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection, transaction
from django.db.models import FloatField, Model, Q, QuerySet, Value
from django.db.models.functions import Cast, Coalesce

from analytics.experiments.metrics import SOURCES, Metric
from analytics.experiments.statistics import ArmMoments


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when rows count, and how much of one subject."""

    since: datetime
    until: datetime
    limit: int  # calls (or turns, or ratings) of one subject that count in full
    past_days: int = 0  # before it, of a subject's own past, which makes its figures more telling


@dataclass(frozen=True, slots=True)
class Sides:
    """Which side a row is of, by the value of a field. Several values may be of one side."""

    field: str
    by_value: Mapping[str, str]


RowsOf = Mapping[type[Model], QuerySet[Any]]


def sum_metrics(
    metrics: Collection[Metric], rows: RowsOf, span: Span, *, subjects: int | None = None
) -> dict[str, ArmMoments]:
    """Return the moments of each metric. `subjects` counts those without rows, too; None: only those with rows."""
    grouped = sum_metrics_by(metrics, rows, span, by=None, subjects=subjects)
    none = ArmMoments.of_sums(subjects or 0, [0.0] * 5)
    return {metric.name: grouped.get("", {}).get(metric.name, none) for metric in metrics}


def sum_metrics_by(
    metrics: Collection[Metric],
    rows: RowsOf,
    span: Span,
    *,
    by: str | None,
    sides: Sides | None = None,
    subjects: int | None = None,
) -> dict[str, dict[str, ArmMoments]]:
    """Return the moments of each metric for each value of a field: {value: {name of the metric: …}}.

    With `sides`, the values are the sides and, if there is a field, also the side, a space and the value of the field.
    Both come from one pass over the rows.
    """
    result: dict[str, dict[str, ArmMoments]] = {}
    for source in SOURCES:
        chosen = [metric for metric in metrics if metric.source is source]
        if not chosen or source not in rows:
            continue
        for value, present, sums in _sum_source(source, chosen, rows[source], span, by, sides):
            moments = result.setdefault(value, {})
            for metric, (counted, with_past, *own) in zip(chosen, sums, strict=True):
                moments[metric.name] = ArmMoments.of_sums(
                    present if subjects is None else subjects, own, counted=int(counted), with_past=int(with_past)
                )
    return result


def _sum_source(
    source: type[Model], metrics: Sequence[Metric], rows: QuerySet[Any], span: Span, by: str | None, sides: Sides | None
) -> Iterable[tuple[str, int, list[list[float]]]]:
    """Yield a value of the field, its subjects with rows, and for each metric: the subjects with a denominator, those
    with one in their past, and the sums that `ArmMoments.of_sums` takes.
    """
    time, size = SOURCES[source].time, SOURCES[source].size
    now = Q(**{f"{time}__gte": span.since, f"{time}__lt": span.until})
    before = Q(**{f"{time}__gte": span.since - timedelta(days=span.past_days), f"{time}__lt": span.since})
    periods = {"ab": now, "cd": before} if span.past_days else {"ab": Q()}
    inner: Any = rows.filter(now | before if span.past_days else now).exclude(subject="").order_by()
    columns = {}
    for names, condition in periods.items():
        columns[f"size_{names}"] = _sum_within(size, condition)
        for number, metric in enumerate(metrics):
            for name, aggregate in zip(names, (metric.numerator, metric.denominator), strict=True):
                columns[f"{name}{number}"] = _sum_within(aggregate, condition)
    by = by if by in {field.name for field in source._meta.fields} else None
    fields = list(filter(None, (by, sides and sides.field)))
    try:
        query, parameters = inner.values(*fields, "subject").annotate(**columns).query.sql_with_params()
    except EmptyResultSet:  # no row can match
        return
    by_part, values_of_sides = _group_by_part(columns, by, sides)
    share = "CASE WHEN size_{0} > %s THEN %s / size_{0} ELSE 1.0 END AS share_{0}"
    shares = ", ".join(share.format(names) for names in periods)
    scaled = ", ".join(
        f"{name}{number} * share_{names} AS {name}{number}"
        for names in periods
        for name in names
        for number in range(len(metrics))
    )
    sums = [_list_sums([f"{name}{number}" for name in "".join(periods)]) for number in range(len(metrics))]
    chosen = ", ".join(each for of_metric in sums for each in of_metric)
    with _use_more_memory(), connection.cursor() as cursor:
        cursor.execute(
            f"WITH i AS ({query}) SELECT part, COUNT(*), {chosen} FROM (SELECT part, {scaled} FROM "  # noqa: S608
            f"(SELECT q.*, {shares} FROM ({by_part}) q) w) s GROUP BY part",
            [*parameters, *[float(span.limit)] * (2 * len(periods)), *values_of_sides],
        )
        groups = cursor.fetchall()
    for part, present, *values in groups:
        width = len(sums[0])
        yield (
            part,
            present,
            [[float(each) for each in values[start : start + width]] for start in range(0, len(values), width)],
        )


@contextmanager
def _use_more_memory() -> Iterator[None]:
    """Let PostgreSQL group in memory. Sorting the rows of a month on the disk takes three times as long."""
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL work_mem = '64MB'")
        yield


def _group_by_part(columns: Iterable[str], by: str | None, sides: Sides | None) -> tuple[str, list[str]]:
    """Return the SQL of the figures of subjects in each part, from `i` with those by the fields, and its parameters."""
    quote = connection.ops.quote_name
    if sides is None:
        value = quote(by) if by else "''"
        return f"SELECT i.*, {value} AS part FROM i", []  # noqa: S608 - the names are ours
    # Rows were grouped by their columns first: that is faster than to compute the side of each.
    cases = " ".join(["WHEN %s THEN %s"] * len(sides.by_value))
    side = f"CASE {quote(sides.field)} {cases} END"
    added = ", ".join(f"SUM({name}) AS {name}" for name in columns)
    selects = [f"SELECT {side} AS part, {added} FROM i GROUP BY part, subject"]  # noqa: S608 - the names are ours
    if by:
        # If each side has one value, `i` has one row of a subject in such a part already.
        has_values_of_their_own = len(set(sides.by_value.values())) == len(sides.by_value)
        rest = f"{', '.join(columns)} FROM i" if has_values_of_their_own else f"{added} FROM i GROUP BY part, subject"
        selects.append(f"SELECT {side} || ' ' || {quote(by)} AS part, {rest}")
    return " UNION ALL ".join(selects), [each for pair in sides.by_value.items() for each in pair] * len(selects)


def _sum_within(aggregate: Any, period: Q) -> Coalesce:
    """Return a subject's sum of the rows of a period, as a float."""
    aggregate = (aggregate() if callable(aggregate) else aggregate).copy()
    if period:
        aggregate.filter = aggregate.filter & period if aggregate.filter else period
    return Coalesce(Cast(aggregate, FloatField()), Value(0.0))


def _list_sums(names: Sequence[str]) -> list[str]:
    """Return the sums over the subjects: how many have a denominator, now and before, then names and products."""
    counts = [f"SUM(CASE WHEN {names[place]} > 0 THEN 1 ELSE 0 END)" for place in (1, -1)]
    products = [f"{first} * {second}" for first, second in combinations_with_replacement(names, 2)]
    return [*(counts if len(names) > 2 else [counts[0], "0"]), *(f"SUM({each})" for each in [*names, *products])]
