"""The content of a report, as its module builds it and the page shows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from console.reports.parts.report_query import ReportQuery
from console.reports.parts.tables import ReportTable
from console.reports.parts.verdicts import VerdictBox
from core.admin.charts import LineChart


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A headline figure: title, formatted value, what it is a share of, and a link to its rows."""

    title: str
    value: str
    of: str = ""
    link: str = ""
    chart: LineChart | None = None


@dataclass(frozen=True, slots=True)
class ReportContent:
    """The content of a report page. `empty` replaces the usual text if there is nothing to show."""

    query: ReportQuery
    lead: str
    verdict: VerdictBox | None = None
    alert: str = ""  # what needs attention now, whatever the period
    alert_url: str = ""  # the rows that the alert is about
    figures: Sequence[ReportFigure] = ()
    charts: Sequence[LineChart] = ()
    tables: Sequence[ReportTable] = ()
    notes: Sequence[str] = ()
    explanations: Sequence[str] = ()  # how the figures are counted, below them and folded
    is_empty: bool = False
    empty: str = ""
    has_other_rows: bool = False  # tables have rows although there is nothing to show above them
    context: Mapping[str, Any] = field(default_factory=dict)  # further template variables

    @property
    def shows_tables(self) -> bool:
        return self.has_other_rows or not self.is_empty
