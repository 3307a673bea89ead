"""Schemas of the reports."""

from dataclasses import fields
from typing import Any

from django.utils.text import slugify

from analytics.experiments.cohorts.comparison import CALL_LIMIT, COMPARED, SIDE_KINDS, ComparisonVerdict
from analytics.reports import FAILURE_FIELDS
from analytics.reports.totals import Totals
from gateway.api.endpoint_docs import NUMBER, TEXT, TEXTS, build_array, build_enum, build_object, build_ref

DAY: dict[str, Any] = {**TEXT, "format": "date"}
COUNT: dict[str, Any] = {"type": "integer"}
RATE: dict[str, Any] = {"type": ["number", "null"], "description": "0 to 1; null if there is nothing to divide by."}
MILLISECONDS: dict[str, Any] = {"type": ["number", "null"]}
NULLABLE_TEXT: dict[str, Any] = {"type": ["string", "null"]}
EVENT: dict[str, Any] = {"type": "integer", "description": "The id of the latest event of it."}
RELEASES: dict[str, Any] = {**TEXTS, "description": "Versions of the releases that served it, the most frequent first."}
METRIC_NAMES = {metric.name: slugify(metric.title).replace("-", "_") for metric in COMPARED}
TOTAL_RATES = ("failure_rate", "repair_rate", "success_rate", "miss_rate", "loop_rate", "thumbs_up_rate")
PERIOD = {"period": build_ref("ReportPeriod")}
FAILURE_COUNTS = build_object(dict.fromkeys(FAILURE_FIELDS, COUNT), description="Failed calls by their code.")
TOTALS = {
    **{each.name: COUNT for each in fields(Totals) if each.name != "latency_ms"},
    **dict.fromkeys(TOTAL_RATES, RATE),
    "mean_latency_ms": MILLISECONDS,
}
COMPONENTS: dict[str, Any] = {
    "ReportPeriod": build_object(
        {"from": DAY, "to": DAY, "complete": {"type": "boolean", "description": "False if the last day is today."}},
        description="The days of a report, in UTC.",
    ),
    "ReportTotals": build_object(TOTALS),
    "ReportDay": build_object({"day": DAY, "totals": build_ref("ReportTotals")}),
    "OverviewReport": build_object(
        {
            **PERIOD,
            "total": build_ref("ReportTotals"),
            "before": {**build_ref("ReportTotals"), "description": "As many days before."},
            "days": build_array(build_ref("ReportDay")),
        },
        description="Calls and turns in a period, and day by day.",
    ),
    "OpsReport": build_object(
        {**PERIOD, "results": build_array(build_ref("OpReport")), "next_cursor": NULLABLE_TEXT},
        description="The ops that were called, by name.",
    ),
    "OpReport": build_object(
        {
            "op": {**NULLABLE_TEXT, "description": "Null for all calls of unknown names."},
            "calls": COUNT,
            "failed": COUNT,
            "failure_rate": RATE,
            "failures": build_ref("OpFailures"),
            "field_error": {"oneOf": [build_ref("ReportFieldError"), {"type": "null"}]},
            "repaired": COUNT,
            "repair_rate": RATE,
            "mean_latency_ms": MILLISECONDS,
        }
    ),
    "OpFailures": FAILURE_COUNTS,
    "ReportFieldError": build_object(
        {"pointer": {**TEXT, "description": "* stands for an index."}, "code": TEXT},
        description="The most frequent error of an argument.",
    ),
    "MissesReport": build_object(
        {
            **PERIOD,
            "turns": {**COUNT, "description": "How many of the newest turns were read for searches and choices."},
            "searches": build_array(build_ref("MissedSearch")),
            "wrong_choices": build_array(build_ref("WrongChoice")),
            "field_errors": build_array(build_ref("RepeatedFieldError")),
            "unknown_names": build_array(build_ref("UnknownName")),
        },
        description="What models looked for and did not find, and what they got wrong.",
    ),
    "MissedSearch": build_object(
        {
            "words": {**NULLABLE_TEXT, "description": "Null if not stored, or if the key lacks the scope events."},
            "times": COUNT,
            "then_worked": {**NULLABLE_TEXT, "description": "The op that worked most often later in the turn."},
            "event": EVENT,
            "releases": RELEASES,
        }
    ),
    "WrongChoice": build_object(
        {"op": TEXT, "then_worked": TEXT, "times": COUNT, "calls": COUNT, "event": EVENT, "releases": RELEASES}
    ),
    "RepeatedFieldError": build_object(
        {"op": TEXT, "pointer": TEXT, "code": TEXT, "times": COUNT, "releases": RELEASES}
    ),
    "UnknownName": build_object({"name": TEXT, "times": COUNT, "releases": RELEASES}),
    "ComparisonReport": build_object(
        {
            **PERIOD,
            "by": build_enum(SIDE_KINDS),
            "first": NULLABLE_TEXT,
            "second": {**NULLABLE_TEXT, "description": "Null, as is `first`, if there are fewer than two to compare."},
            "metrics": build_array(build_ref("ComparedMetric")),
            "ops": build_array(build_ref("ChangedOp")),
        },
        description="Two cohorts or releases side by side. Differences are second minus first, and compare users: of "
        f"each, at most {CALL_LIMIT} calls count in full.",
    ),
    "ComparedMetric": build_object(
        {
            "metric": build_enum(METRIC_NAMES.values()),
            "first": build_ref("ReportShare"),
            "second": build_ref("ReportShare"),
            "difference": RATE,
            "interval": {"oneOf": [build_ref("ReportInterval"), {"type": "null"}]},
            "verdict": build_enum(ComparisonVerdict),
            "days_to_wait": {"type": ["integer", "null"]},
        }
    ),
    "ChangedOp": build_object(
        {
            "op": TEXT,
            "first": build_ref("ReportShare"),
            "second": build_ref("ReportShare"),
            "difference": NUMBER,
            "interval": build_ref("ReportInterval"),
        },
        description="An op whose failure rate differs beyond chance.",
    ),
    "ReportShare": build_object({"hits": COUNT, "total": COUNT, "rate": RATE}),
    "ReportInterval": build_object({"low": NUMBER, "high": NUMBER}, description="95% confidence interval."),
}
