"""The reports, in the order of the navigation. To add one: write its module and add a line here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.http import HttpRequest

from console.reports import breakdowns, by_op, comparison, dead_ends, funnel, misses, overview, selection
from console.reports.parts.report_content import ReportContent

# Permissions that every report requires: to view the rows behind the figures.
REPORT_PERMISSIONS = ["analytics.view_opdaily", "analytics.view_turn", "analytics.view_toolselection"]


@dataclass(frozen=True, slots=True)
class Report:
    """A report: its URL name, path below /admin/, title, Material symbol, and what builds its content."""

    url_name: str
    path: str
    title: str
    icon: str
    build: Callable[[HttpRequest], ReportContent]
    is_needed: Callable[[], bool] | None = None  # whether the report has something to report
    keywords: Sequence[str] = ()  # what people call its figures, for "Go to"


REPORTS = (
    Report(
        "report_overview",
        "reports/",
        "Overview",
        "monitoring",
        overview.build_report,
        keywords=["failure rate", "repair rate", "success rate", "error rate", "calls", "ratings", "thumbs up"],
    ),
    Report(
        "report_funnel",
        "reports/funnel/",
        "Funnel",
        "filter_alt",
        funnel.build_report,
        keywords=["conversion", "steps"],
    ),
    Report(
        "report_ops",
        "reports/ops/",
        "By op",
        "bar_chart",
        by_op.build_report,
        keywords=["failure rate", "error rate", "failing ops", "latency", "slow ops", "most common error"],
    ),
    Report(
        "report_models",
        "reports/models/",
        "By model",
        "smart_toy",
        breakdowns.build_models_report,
        keywords=["failure rate", "latency", "ratings"],
    ),
    Report(
        "report_clients",
        "reports/clients/",
        "By client",
        "hub",
        breakdowns.build_clients_report,
        keywords=["failure rate", "latency", "usage"],
    ),
    Report(
        "report_comparison",
        "reports/side-by-side/",
        "Side by side",
        "compare",
        comparison.build_report,
        keywords=["compare cohorts", "compare releases", "comparison", "difference", "latency"],
    ),
    Report(
        "report_selection",
        "reports/tool-selection/",
        "Tool selection",
        "checklist",
        selection.build_report,
        selection.is_used,
        keywords=["tokens per turn", "tools loaded", "tool misses"],
    ),
    Report(
        "report_misses",
        "reports/misses/",
        "Misses",
        "search_off",
        misses.build_report,
        keywords=["miss rate", "searches without a result", "wrong choices", "field errors"],
    ),
    Report(
        "report_dead_ends",
        "reports/unknown-names-and-loops/",
        "Unknown names and loops",
        "sync_problem",
        dead_ends.build_report,
        keywords=["hallucinations", "invented tools", "repeated calls", "loops"],
    ),
)
