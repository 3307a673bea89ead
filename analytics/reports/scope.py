"""The filter of a report: the last days, optionally one surface, cohort, release or model."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from analytics.models import OpDaily, OperationEvent, ToolSelection, Turn

PERIODS = (7, 28, 90)  # days, including today, which is incomplete
UNDER = ("surface", "cohort", "release", "model")  # fields that a report can be filtered by
NONE = "-"  # as a cohort: no cohort decided anything. Cohorts cannot have this name

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Scope:
    """A period that ends at `at`, and values to filter by; empty means all."""

    at: datetime
    days: int = 28
    surface: str = ""
    cohort: str = ""
    release: str = ""
    model: str = ""

    @property
    def last(self) -> date:
        """The last day in UTC, which is incomplete."""
        return self.at.astimezone(UTC).date()

    @property
    def first(self) -> date:
        """The first day in UTC."""
        return self.last - timedelta(days=self.days - 1)

    def under(self, name: str, value: str) -> "Scope":
        """Return a copy that is also filtered by one surface, cohort, release or model."""
        narrowed: dict[str, Any] = {name: value}
        return replace(self, **narrowed)

    def daily(self) -> QuerySet[OpDaily]:
        """Return the daily figures of these days."""
        return OpDaily.objects.filter(day__gte=self.first, day__lte=self.last).filter(self._under()).order_by()

    def turns(self) -> QuerySet[Turn]:
        """Return the turns that began on these days."""
        return self._of_days(Turn.objects.all())

    def selections(self) -> QuerySet[ToolSelection]:
        """Return the tool selections that chat services reported on these days."""
        return self._of_days(ToolSelection.objects.all())

    def events(self) -> QuerySet[OperationEvent]:
        """Return the events of these days. There are very many: add a filter that an index covers."""
        return self._of_days(OperationEvent.objects.all())

    def _of_days(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        since, until = (datetime.combine(day, time(), UTC) for day in (self.first, self.last + timedelta(days=1)))
        return rows.filter(time__gte=since, time__lt=until).filter(self._under()).order_by()

    def _under(self) -> Q:
        exactly = {name: value for name in ("surface", "release", "model") if (value := getattr(self, name))}
        return Q(**exactly) & of_cohort(self.cohort)


def of_cohort(name: str) -> Q:
    """Return a condition for rows with this cohort among those that decided. An empty name matches all rows."""
    if not name:
        return Q()
    if name == NONE:
        return Q(cohort="")
    # Rows store up to three names, separated by spaces: "dev copy-b".
    alone, first, last = Q(cohort=name), Q(cohort__startswith=f"{name} "), Q(cohort__endswith=f" {name}")
    return alone | first | last | Q(cohort__contains=f" {name} ")


def seen(at: datetime) -> dict[str, list[str]]:
    """Return the values to filter by, from the longest period: {"surface": […], "cohort": […], …}."""
    rows = Scope(at, max(PERIODS)).daily().values_list(*UNDER).distinct()
    found: dict[str, set[str]] = {name: set() for name in UNDER}
    for row in rows:
        for name, value in zip(UNDER, row, strict=True):
            found[name].update(value.split() if name == "cohort" else filter(None, [value]))
    return {name: sorted(values) for name, values in found.items()}
