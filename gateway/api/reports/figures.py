"""The figures of the reports as JSON values."""

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

from analytics import reports
from analytics.events import stored_contents
from analytics.experiments.cohorts import comparison
from analytics.experiments.cohorts.comparison import Proportion
from analytics.experiments.proportions import ConfidenceInterval
from analytics.reports import FAILURE_FIELDS, OpFigures, misses, totals
from analytics.reports.report_filter import ReportFilter
from analytics.reports.totals import Totals
from core.text import lists
from gateway.api.reports.schemas import METRIC_NAMES, TOTALS
from registry.releases import stored_releases


def build_overview(scope: ReportFilter) -> dict[str, Any]:
    """Return the totals of the period, of the one before, and of each day."""
    days = totals.sum_by_day(scope)
    return {
        **_serialize_period(scope),
        "total": _serialize_totals(sum(days.values(), start=Totals())),
        "before": _serialize_totals(totals.sum_period(scope.move_back())),
        "days": [{"day": day.isoformat(), "totals": _serialize_totals(each)} for day, each in days.items()],
    }


def build_ops_page(scope: ReportFilter, limit: int, after: str | None) -> dict[str, Any]:
    """Return a page of the ops that were called, by name. `after` is the last op of the page before."""
    figures_by_op = reports.sum_figures_by_op(scope.select_daily_figures())
    errors = reports.find_most_common_errors(scope.select_daily_figures())
    names = sorted(op for op, each in figures_by_op.items() if each.calls and (after is None or op > after))
    shown = names[:limit]
    return {
        **_serialize_period(scope),
        "results": [_serialize_op(op, figures_by_op[op], errors.get(op)) for op in shown],
        "next_cursor": lists.encode_cursor(json.dumps(shown[-1])) if len(names) > limit else None,
    }


def build_misses(scope: ReportFilter, *, with_words: bool) -> dict[str, Any]:
    """Return what models missed."""
    found = misses.find_turn_misses(scope, with_contents=stored_contents.get_rules().days > 0)
    return {
        **_serialize_period(scope),
        "turns": found.turn_count,
        "searches": [
            {
                "words": (each.words if with_words else "") or None,
                "times": each.miss.times,
                "then_worked": each.miss.next_op or None,
                "event": each.miss.example,
                "releases": _rank(each.miss.releases),
            }
            for each in found.searches
        ],
        "wrong_choices": [
            {
                "op": each.wrong,
                "then_worked": each.right,
                "times": each.miss.times,
                "calls": each.calls,
                "event": each.miss.example,
                "releases": _rank(each.miss.releases),
            }
            for each in found.choices
        ],
        "field_errors": [
            {**each._asdict(), "releases": _rank(each.releases)} for each in misses.count_field_errors(scope)
        ],
        "unknown_names": [
            {**each._asdict(), "releases": _rank(each.releases)} for each in misses.count_unknown_names(scope)
        ],
    }


def build_comparison(scope: ReportFilter, by: str, first: str, second: str) -> dict[str, Any]:
    """Return two cohorts or releases side by side: those requested, else the two with most calls."""
    scope = scope.narrow(by, "")
    totals_by_side = totals.sum_by_value(scope, by)
    live = stored_releases.get_live_version()
    pair = comparison.choose_sides(totals_by_side, by, first=first, second=second, live=live)
    answer = {**_serialize_period(scope), "by": by, "first": None, "second": None, "metrics": [], "ops": []}
    if pair is None:
        return answer
    by_side = comparison.sum_sides(scope, by, pair)
    metrics = [
        {
            "metric": METRIC_NAMES[each.metric.name],
            "first": _serialize_share(each.first),
            "second": _serialize_share(each.second),
            "difference": each.difference,
            "interval": each.interval and _serialize_interval(each.interval),
            "verdict": each.verdict,
            "days_to_wait": each.days_to_wait,
        }
        for each in comparison.compare_sides(scope, by, pair, totals_by_side, by_side)
    ]
    changed_ops = [
        {
            "op": each.op,
            "first": _serialize_share(each.first),
            "second": _serialize_share(each.second),
            "difference": each.difference,
            "interval": _serialize_interval(each.interval),
        }
        for each in comparison.find_changed_ops(scope, by, pair, by_side)
    ]
    return answer | {"first": pair[0], "second": pair[1], "metrics": metrics, "ops": changed_ops}


def _serialize_period(scope: ReportFilter) -> dict[str, Any]:
    days = {"from": scope.first_day.isoformat(), "to": scope.last_day.isoformat()}
    return {"period": {**days, "complete": scope.is_over}}


def _serialize_totals(each: Totals) -> dict[str, Any]:
    return {name: getattr(each, name) for name in TOTALS}


def _serialize_op(op: str, each: OpFigures, error: tuple[str, str] | None) -> dict[str, Any]:
    return {
        "op": op or None,
        "calls": each.calls,
        "failed": each.failed,
        "failure_rate": each.failure_rate,
        "failures": {name: getattr(each, name) for name in FAILURE_FIELDS},
        "field_error": {"pointer": error[0], "code": error[1]} if error else None,
        "repaired": each.repaired,
        "repair_rate": each.repair_rate,
        "mean_latency_ms": each.mean_latency_ms,
    }


def _serialize_share(share: Proportion) -> dict[str, Any]:
    return {**asdict(share), "rate": share.rate}


def _serialize_interval(interval: ConfidenceInterval) -> dict[str, float]:
    return interval._asdict()


def _rank(releases: Counter[str]) -> list[str]:
    return [version for version, _ in releases.most_common() if version]
