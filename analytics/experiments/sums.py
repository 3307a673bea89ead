"""Sum a metric over the subjects of a side, in the database: what `statistics` needs, and nothing else, is read."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations_with_replacement
from typing import Any

from django.db import connection
from django.db.models import F, FloatField, Model, QuerySet, Value
from django.db.models.functions import Cast, Coalesce

from analytics.experiments.metrics import SOURCES, Metric
from analytics.experiments.statistics import ArmMoments

PAST_DAYS = 28  # of a subject's own past, which makes its figures after the start more telling


@dataclass(frozen=True, slots=True)
class Span:
    """From when to when rows count, and how much of one subject."""

    since: datetime
    until: datetime
    limit: int  # calls (or turns, or ratings) of one subject that count in full


RowsOf = Mapping[type[Model], QuerySet[Any]]


def sum_metrics(
    metrics: Collection[Metric], rows: RowsOf, span: Span, *, subjects: int | None = None
) -> dict[str, ArmMoments]:
    """Return the moments of each metric. `subjects` counts those without rows, too; None: only those with rows."""
    grouped = sum_metrics_by(metrics, rows, span, by="", subjects=subjects)
    none = ArmMoments.of_sums(subjects or 0, [0.0] * 5)
    return {metric.name: grouped.get("", {}).get(metric.name, none) for metric in metrics}


def sum_metrics_by(
    metrics: Collection[Metric], rows: RowsOf, span: Span, *, by: str, subjects: int | None = None
) -> dict[str, dict[str, ArmMoments]]:
    """Return the moments of each metric for each value of a field: {value: {name of the metric: moments}}."""
    result: dict[str, dict[str, ArmMoments]] = {}
    for source in SOURCES:
        chosen = [metric for metric in metrics if metric.source is source]
        if not chosen or source not in rows:
            continue
        for value, counted, sums in _sum_source(source, chosen, rows[source], span, by):
            moments = result.setdefault(value, {})
            for metric, own in zip(chosen, sums, strict=True):
                moments[metric.name] = ArmMoments.of_sums(counted if subjects is None else subjects, own)
    return result


def _sum_source(
    source: type[Model], metrics: Sequence[Metric], rows: QuerySet[Any], span: Span, by: str
) -> Iterable[tuple[str, int, list[list[float]]]]:
    """Yield a value of the field, its subjects with rows, and for each metric Σa, Σb, Σaa, Σab, Σbb."""
    time, size = SOURCES[source].time, SOURCES[source].size
    inner: Any = rows.filter(**{f"{time}__gte": span.since, f"{time}__lt": span.until}).exclude(subject="").order_by()
    inner = inner.annotate(part=F(by) if by else Value("")).values("part", "subject")
    pairs = {}
    for number, metric in enumerate(metrics):
        for side, aggregate in (("a", metric.numerator), ("b", metric.denominator)):
            built = aggregate() if callable(aggregate) else aggregate
            pairs[f"{side}{number}"] = Coalesce(Cast(built, FloatField()), Value(0.0))
    query, parameters = inner.annotate(size=Cast(size, FloatField()), **pairs).query.sql_with_params()
    names = [(f"a{number}", f"b{number}") for number in range(len(metrics))]
    scaled = ", ".join(f"{name} * share AS {name}" for pair in names for name in pair)
    sums = [_list_products(pair) for pair in names]
    chosen = ", ".join(f"SUM({product})" for products in sums for product in products)
    share = "CASE WHEN size > %s THEN %s / size ELSE 1.0 END AS share"
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT part, COUNT(*), {chosen} FROM (SELECT part, {scaled} FROM "  # noqa: S608
            f"(SELECT q.*, {share} FROM ({query}) q) w) s GROUP BY part",
            [float(span.limit), float(span.limit), *parameters],
        )
        for part, counted, *values in cursor.fetchall():
            width = len(sums[0])
            yield (
                part,
                counted,
                [[float(each) for each in values[start : start + width]] for start in range(0, len(values), width)],
            )


def _list_products(names: Sequence[str]) -> list[str]:
    return [*names, *(f"{first} * {second}" for first, second in combinations_with_replacement(names, 2))]
