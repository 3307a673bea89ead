"""The filter of a report: a period, optionally one surface, cohort, release, model or client."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from analytics.events.models import OperationEvent
from analytics.rollups.models import OpDaily, SubjectFigures
from analytics.turns.models import Feedback, ToolSelection, Turn

PERIODS = (7, 28, 90)  # days, including today, which is incomplete
DEFAULT_DAYS = 28
MAX_DAYS = 400  # of a period that begins and ends on chosen days
EARLIEST = date(2000, 1, 1)  # of these
FROM, TO = "from", "to"  # parameters of such a period
FILTER_FIELDS = ("surface", "cohort", "release", "model", "client")  # fields that a report can be filtered by
EXACT_FIELDS = ("surface", "release", "model", "client")  # a row has one value of each
COHORT_PARAMETER = "in_cohort"  # query parameter of lists in the console
NO_COHORT = "-"  # as a cohort: no cohort decided anything. Cohorts cannot have this name

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class ReportFilter:
    """A period, and values to filter by; empty means all. The period ends on the day of `at`, or earlier on `last`."""

    at: datetime
    days: int = DEFAULT_DAYS
    surface: str = ""
    cohort: str = ""
    release: str = ""
    model: str = ""
    client: str = ""
    last: date | None = None

    @property
    def last_day(self) -> date:
        """The last day in UTC."""
        return self.last or self.today

    @property
    def today(self) -> date:
        """The day of `at` in UTC, which is incomplete."""
        return self.at.astimezone(UTC).date()

    @property
    def first_day(self) -> date:
        """The first day in UTC."""
        return self.last_day - timedelta(days=self.days - 1)

    @property
    def is_over(self) -> bool:
        """Whether the last day is over, so that its figures do not change any more."""
        return self.last_day < self.today

    def narrow(self, name: str, value: str) -> "ReportFilter":
        """Return a copy that is also filtered by one surface, cohort, release, model or client."""
        narrowed: dict[str, Any] = {name: value}
        return replace(self, **narrowed)

    def move_back(self) -> "ReportFilter":
        """Return a copy for as many days that end before these begin."""
        return replace(self, last=self.first_day - timedelta(days=1))

    def list_parameters(self) -> dict[str, Any]:
        """Return the query parameters of a page or an endpoint for this period and these values."""
        chosen_days = {FROM: self.first_day.isoformat(), TO: self.last_day.isoformat()}
        values = {name: value for name in FILTER_FIELDS if (value := getattr(self, name))}
        return {**({"days": self.days} if self.last is None else chosen_days), **values}

    def select_daily_figures(self) -> QuerySet[OpDaily]:
        """Return the daily figures of these days."""
        return (
            OpDaily.objects.filter(day__gte=self.first_day, day__lte=self.last_day)
            .filter(self._build_condition())
            .order_by()
        )

    def select_subject_figures(self) -> QuerySet[SubjectFigures]:
        """Return the figures of subjects on these days."""
        since, until = self.get_times()
        days = SubjectFigures.objects.filter(begin__gte=since, begin__lt=until)
        return days.filter(self._build_condition()).order_by()

    def select_turns(self) -> QuerySet[Turn]:
        """Return the turns that began on these days."""
        return self._filter_days(Turn.objects.all())

    def select_tool_selections(self) -> QuerySet[ToolSelection]:
        """Return the tool selections that chat services reported on these days."""
        return self._filter_days(ToolSelection.objects.all())

    def select_feedback(self) -> QuerySet[Feedback]:
        """Return what end users said about turns on these days."""
        return self._filter_days(Feedback.objects.all())

    def select_events(self) -> QuerySet[OperationEvent]:
        """Return the events of these days. There are very many: add a filter that an index covers."""
        return self._filter_days(OperationEvent.objects.all())

    def get_times(self) -> tuple[datetime, datetime]:
        """Return the begin of the first day, and the end of the last one."""
        since, until = (
            datetime.combine(day, time(), UTC) for day in (self.first_day, self.last_day + timedelta(days=1))
        )
        return since, until

    def _filter_days(self, rows: QuerySet[Row]) -> QuerySet[Row]:
        since, until = self.get_times()
        return rows.filter(time__gte=since, time__lt=until).filter(self._build_condition()).order_by()

    def _build_condition(self) -> Q:
        exactly = {name: value for name in EXACT_FIELDS if (value := getattr(self, name))}
        return Q(**exactly) & match_cohort(self.cohort)


class InvalidPeriod(ValueError):
    """Days that a report cannot cover. The message says what to send."""


def choose_days(at: datetime, first: date | None, last: date | None) -> ReportFilter:
    """Return the filter of a period from `first` to `last`, today at the latest. Raises InvalidPeriod.

    Without `last` it ends today; without `first` it has the usual length.
    """
    today = at.astimezone(UTC).date()
    end = min(last or today, today)
    if min(end, first or end) < EARLIEST:
        raise InvalidPeriod(f"Choose days from {EARLIEST} on.")
    begin = first or end - timedelta(days=DEFAULT_DAYS - 1)
    if begin > end:
        raise InvalidPeriod("The first day is after the last one, or in the future. Choose an earlier first day.")
    days = (end - begin).days + 1
    if days > MAX_DAYS:
        raise InvalidPeriod(f"A report covers at most {MAX_DAYS} days. Choose a later first day.")
    return ReportFilter(at, days, last=end)


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
