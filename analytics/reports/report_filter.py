"""The filter of a report: the last days, optionally one surface, cohort, release or model."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from analytics.events.models import OperationEvent
from analytics.rollups.models import OpDaily
from analytics.turns.models import ToolSelection, Turn

PERIODS = (7, 28, 90)  # days, including today, which is incomplete
FILTER_FIELDS = ("surface", "cohort", "release", "model")  # fields that a report can be filtered by
COHORT_PARAMETER = "in_cohort"  # query parameter of lists in the console
NO_COHORT = "-"  # as a cohort: no cohort decided anything. Cohorts cannot have this name

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class ReportFilter:
    """A period that ends at `at`, and values to filter by; empty means all."""

    at: datetime
    days: int = 28
    surface: str = ""
    cohort: str = ""
    release: str = ""
    model: str = ""

    @property
    def last_day(self) -> date:
        """The last day in UTC, which is incomplete."""
        return self.at.astimezone(UTC).date()

    @property
    def first_day(self) -> date:
        """The first day in UTC."""
        return self.last_day - timedelta(days=self.days - 1)

    def narrow(self, name: str, value: str) -> "ReportFilter":
        """Return a copy that is also filtered by one surface, cohort, release or model."""
        narrowed: dict[str, Any] = {name: value}
        return replace(self, **narrowed)

    def move_back(self) -> "ReportFilter":
        """Return a copy for as many days that end before these begin."""
        return replace(self, at=self.at - timedelta(days=self.days))

    def select_daily_figures(self) -> QuerySet[OpDaily]:
        """Return the daily figures of these days."""
        return (
            OpDaily.objects.filter(day__gte=self.first_day, day__lte=self.last_day)
            .filter(self._build_condition())
            .order_by()
        )

    def select_turns(self) -> QuerySet[Turn]:
        """Return the turns that began on these days."""
        return self._filter_days(Turn.objects.all())

    def select_tool_selections(self) -> QuerySet[ToolSelection]:
        """Return the tool selections that chat services reported on these days."""
        return self._filter_days(ToolSelection.objects.all())

    def select_events(self) -> QuerySet[OperationEvent]:
        """Return the events of these days. There are very many: add a filter that an index covers."""
        return self._filter_days(OperationEvent.objects.all())

    def _filter_days(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        since, until = (
            datetime.combine(day, time(), UTC) for day in (self.first_day, self.last_day + timedelta(days=1))
        )
        return rows.filter(time__gte=since, time__lt=until).filter(self._build_condition()).order_by()

    def _build_condition(self) -> Q:
        exactly = {name: value for name in ("surface", "release", "model") if (value := getattr(self, name))}
        return Q(**exactly) & match_cohort(self.cohort)


def match_cohort(name: str) -> Q:
    """Return a condition for rows with this cohort among those that decided. An empty name matches all rows."""
    if not name:
        return Q()
    if name == NO_COHORT:
        return Q(cohort="")
    # Rows store up to three names, separated by spaces: "dev copy-b".
    alone, first, last = Q(cohort=name), Q(cohort__startswith=f"{name} "), Q(cohort__endswith=f" {name}")
    return alone | first | last | Q(cohort__contains=f" {name} ")


def list_filter_values(at: datetime) -> dict[str, list[str]]:
    """Return the values to filter by, from the longest period: {"surface": […], "cohort": […], …}."""
    rows = ReportFilter(at, max(PERIODS)).select_daily_figures().values_list(*FILTER_FIELDS).distinct()
    values_by_field: dict[str, set[str]] = {name: set() for name in FILTER_FIELDS}
    for row in rows:
        for name, value in zip(FILTER_FIELDS, row, strict=True):
            values_by_field[name].update(value.split() if name == "cohort" else filter(None, [value]))
    return {name: sorted(values) for name, values in values_by_field.items()}
