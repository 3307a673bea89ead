"""The tables of an experiment's page, from its stored figures."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from django.urls import reverse
from django.utils.html import escape
from django.utils.text import capfirst

from analytics.experiments import interruptions, metric_text, verdict_text
from analytics.experiments.metrics import METRICS
from analytics.experiments.statistics import ArmVerdict
from analytics.flags import LIVE, FlagKey
from analytics.rollout.experiments import Experiment
from console.reports.parts.tables import ReportCell, ReportColumn, ReportTable
from core.admin import charts
from registry.models import Op, Release
from registry.releases import stored_releases

MAX_SCALE = 1.0  # of the bars: differences of as much as the control's figure
CSV_COLUMNS = ("Interval from", "Interval to", "p", "Users of the control", "Users of the arm")
EXPLORATORY = "exploratory"
Row = Mapping[str, Any]


def build_tables(experiment: Experiment, figures: Mapping[str, Any]) -> list[ReportTable]:
    """Return all tables, the most important first. Those without rows are left out."""
    metrics = [_name_metric(row["metric"]) for row in figures["metrics"]]
    ops = [ReportCell(row["part"], link) for row, link in zip(figures["ops"], _link_ops(figures["ops"]), strict=True)]
    models, clients = ([ReportCell(row["part"]) for row in figures[name]] for name in ("models", "clients"))
    title = METRICS[experiment.primary_metric].title
    names = verdict_text.name_arms(experiment)
    tables = [
        _build_table("metrics", "Metrics", "Metric", metrics, experiment, figures["metrics"], names),
        _build_guardrails(figures["guardrails"], names, "Holds it" if experiment.is_guarded else "Asks you"),
        _build_table("ops", f"Failure rate by op, {EXPLORATORY}", "Op", ops, experiment, figures["ops"], names),
        _build_table(
            "models", f"{title} by model family, {EXPLORATORY}", "Model", models, experiment, figures["models"], names
        ),
        _build_table(
            "clients", f"{title} by client, {EXPLORATORY}", "Client", clients, experiment, figures["clients"], names
        ),
    ]
    return [table for table in tables if table.rows or table.minor_rows]


def build_exposures(experiment: Experiment, figures: Mapping[str, Any]) -> ReportTable:
    """Return the users of each arm beside what was planned."""
    arms, subjects = experiment.list_arms(), figures["subjects"]
    names, total, weights = verdict_text.name_arms(experiment), sum(subjects.values()), sum(a.weight for a in arms)
    rows = [
        [
            ReportCell(arm.name, reverse("admin:analytics_cohort_change", args=[arm.pk])),
            ReportCell(names[arm.name] if names[arm.name] != arm.name else arm.variant),
            _show(arm.weight / weights, f"{arm.weight / weights:.0%}"),
            _show(
                subjects.get(arm.name, 0),
                f"{subjects.get(arm.name, 0):,}",
                f"{reverse('admin:analytics_assignment_changelist')}?{urlencode({'cohort': arm.name})}",
            ),
            _show(subjects.get(arm.name, 0) / total, f"{subjects.get(arm.name, 0) / total:.1%}")
            if total
            else ReportCell(None),
        ]
        for arm in arms
    ]
    columns = [ReportColumn("Arm"), ReportColumn("Variant")]
    columns += [ReportColumn(each, str) for each in ("Planned", "Users", "Share")]
    return ReportTable("exposures", "Users", columns, rows)


def find_copy_url(experiment: Experiment, arm: str = "") -> str:
    """Return the comparison of the releases of the control and an arm, by default the last one; "" without two."""
    arms = experiment.list_arms()
    if experiment.flag_id != FlagKey.RELEASE:
        return ""
    live = interruptions.find_control_release(experiment)
    live = stored_releases.get_live_version() if live == LIVE else live
    own = next((each for each in arms if each.name == arm), arms[-1])
    before, after = (live if each.variant == LIVE else each.variant for each in (arms[0], own))
    if before == after or Release.objects.filter(pk__in=[before, after]).count() < 2:
        return ""
    return f"{reverse('admin:registry_release_compare')}?{urlencode({'before': before, 'after': after})}"


def _name_metric(name: str) -> ReportCell:
    return ReportCell(METRICS[name].title)


def _show(value: float | None, text: str, link: str = "") -> ReportCell:
    return ReportCell(value, link, escape(text))


def _build_columns(first: str, names: Mapping[str, str], limit: float, more: Sequence[str] = ()) -> list[ReportColumn]:
    control, *arms = map(capfirst, names.values())
    # What the figures say comes first: the other columns of a narrow window are scrolled out.
    columns = [ReportColumn(first), *([ReportColumn("Arm")] if len(arms) > 1 else []), ReportColumn("Verdict")]
    columns += [ReportColumn("Difference", str), ReportColumn(f"Interval (±{limit:.0%} of the control)")]
    columns += [ReportColumn(control, str), ReportColumn(arms[0] if len(arms) == 1 else "Arm's figure", str)]
    columns += [ReportColumn(title) for title in more]
    return columns + [ReportColumn(title, only_csv=True) for title in CSV_COLUMNS]


def _build_table(
    name: str,
    title: str,
    first: str,
    heads: Sequence[ReportCell],
    experiment: Experiment,
    figures: Sequence[Row],
    names: Mapping[str, str],
) -> ReportTable:
    limit = _find_limit(figures)
    copy_urls = {arm: find_copy_url(experiment, arm) for arm in list(names)[1:]} if name == "ops" else {}
    has_copy = any(copy_urls.values())
    rows: list[list[ReportCell]] = []
    empty: list[list[ReportCell]] = []
    for head, row in zip(heads, figures, strict=True):
        copy = [ReportCell("Compare", f"{copy_urls[row['arm']]}#{quote(row['part'])}")] if has_copy else []
        cells = [head, *_build_cells(row, names, limit), *copy, *_build_csv_cells(row)]
        (empty if row["value"] is None and row["control"] is None else rows).append(cells)
    columns = _build_columns(first, names, limit, ["Copy"] if has_copy else [])
    return ReportTable(name, title, columns, rows, minor_rows=empty, minor_reason="without data")


def _build_guardrails(figures: Sequence[Row], names: Mapping[str, str], signal: str) -> ReportTable:
    limit = _find_limit(figures)
    rows = []
    for row in figures:
        verdict = {ArmVerdict.WORSE: "Clearly worse", ArmVerdict.NONE: "No clear harm"}.get(row["verdict"], "")
        cells = _build_cells(row, names, limit, verdict)
        ends = "Stops it" if row["kind"] == "guardrail" else signal
        rows.append([_name_metric(row["metric"]), *cells, ReportCell(ends), *_build_csv_cells(row)])
    columns = _build_columns("Metric", names, limit, ["If clearly worse"])
    return ReportTable("guardrails", "Guardrails and signals", columns, rows)


def _build_cells(row: Row, names: Mapping[str, str], limit: float, verdict: str = "") -> list[ReportCell]:
    metric = METRICS[row["metric"]]
    arm = [ReportCell(names[row["arm"]])] if len(names) > 2 else []
    values = [_show(row[side], metric_text.format_value(metric, row[side])) for side in ("control", "value")]
    verdict_cell = ReportCell(verdict or verdict_text.describe_change(row))
    if row["difference"] is None:
        return [*arm, verdict_cell, ReportCell(None), ReportCell(None), *values]
    difference = _show(row["difference"], metric_text.format_difference(metric, row["difference"]))
    return [*arm, verdict_cell, difference, _draw(row, limit), *values]


def _draw(row: Row, limit: float) -> ReportCell:
    """Return the interval as a bar, in parts of the control's figure. An open end reaches to the edge."""
    if not row["control"] or (row["low"] is None and row["high"] is None):
        return ReportCell(None)
    scale = abs(row["control"])
    low = -limit if row["low"] is None else row["low"] / scale
    high = limit if row["high"] is None else row["high"] / scale
    metric = METRICS[row["metric"]]
    ends = [None if end is None else metric_text.format_difference(metric, end) for end in (row["low"], row["high"])]
    kind = row["verdict"] if row["verdict"] in (ArmVerdict.BETTER, ArmVerdict.WORSE) else "none"
    bar = charts.draw_interval(low, high, limit, kind=kind)
    return ReportCell(" to ".join(end or "open" for end in ends), html=bar)


def _find_limit(figures: Sequence[Row]) -> float:
    ends = [abs(end / row["control"]) for row in figures if row["control"] for end in (row["low"], row["high"]) if end]
    return min(MAX_SCALE, max(ends, default=MAX_SCALE))


def _build_csv_cells(row: Row) -> list[ReportCell]:
    return [ReportCell(value) for value in (row["low"], row["high"], row["p"], *row["users"])]


def _link_ops(rows: Sequence[Row]) -> list[str]:
    keys = dict(Op.objects.filter(op__in=[row["part"] for row in rows]).values_list("op", "pk"))
    return [
        reverse("admin:registry_op_change", args=[keys[row["part"]]]) if row["part"] in keys else "" for row in rows
    ]
