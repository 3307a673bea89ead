"""The verdicts at the top of reports: on two cohorts or releases, on a period, and on the ops of a period."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from django.urls import reverse

from analytics.models import Cohort
from analytics.reports import comparison, totals
from analytics.reports.comparison import MIN_SAMPLE
from analytics.reports.op_figures import OpFigures
from analytics.reports.report_filter import FILTER_FIELDS, NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from analytics.reports.verdicts import Advice, Verdict, find_worst_op, judge
from console.reports import tables
from console.reports.report_query import label_values
from console.reports.verdicts.sentences import VerdictBox, describe_verdict, get_tone
from registry.models import Activation, Release

EVERYONE_ELSE = "users in no cohort"
COHORT_ADVICE = {
    Advice.WIDEN: "Widen it.",
    Advice.STOP: "Stop or narrow it.",
    Advice.HOLD: "Do not widen it yet.",
    Advice.NO_DIFFERENCE: "Wait for more data, or decide by something else.",
}
RELEASE_ADVICE = {
    Advice.WIDEN: "Give it to more users.",
    Advice.STOP: "Give it to fewer users.",
    Advice.HOLD: "Do not give it to more users yet.",
    Advice.NO_DIFFERENCE: "Wait for more data, or decide by something else.",
}
LIVE_RELEASE_ADVICE = RELEASE_ADVICE | {
    Advice.WIDEN: "Keep it live.",
    Advice.STOP: "Consider rolling it back.",
    Advice.HOLD: "Look into that before you keep it.",
}
MOST_FAILED_FIRST = "-2"  # the report by op, sorted
PERIOD_ADVICE = {Advice.STOP: "Find the ops that fail.", Advice.HOLD: "Find out what changed."}


def judge_sides(scope: ReportFilter, by: str, pair: Sequence[str], sides: Mapping[str, Totals]) -> Verdict:
    """Return the verdict on the second of two cohorts or releases. The rate of new data is that since both have any."""
    days = min(totals.count_active_days(scope.narrow(by, name)) for name in pair)
    first, second = (sides.get(name, Totals()) for name in pair)
    return judge(comparison.compare_metrics(first, second, days=days))


def build_sides_verdict(scope: ReportFilter, by: str, pair: Sequence[str], sides: Mapping[str, Totals]) -> VerdictBox:
    """Return the verdict on the second side; on the first one, if the second side is users in no cohort."""
    other, name = pair if pair[1] != NO_COHORT else (pair[1], pair[0])
    verdict = judge_sides(scope, by, [other, name], sides)
    advice: Mapping[Advice, str] = COHORT_ADVICE
    if by == "cohort":
        labels, links = [name, other], _link_cohort(name)
    else:
        labels, advice, links = _describe_releases(name, other)
    label, other_label = (EVERYONE_ELSE if each == NO_COHORT else each for each in labels)
    return VerdictBox(describe_verdict(verdict, label, other_label, advice), get_tone(verdict), links)


def build_period_verdict(scope: ReportFilter, total: Totals, before: Totals) -> VerdictBox:
    """Return how the period differs from that before. Users and tasks differ too, so it never says to widen."""
    label, label_before = f"Last {scope.days} days", f"the {scope.days} days before"
    verdict = judge(comparison.compare_metrics(before, total, days=scope.days))
    if before.calls or before.turns:
        text = describe_verdict(verdict, label, label_before, PERIOD_ADVICE)
    else:
        text = f"{label}: {_describe_calls(total.failed, total.calls)}. There are no calls before to compare with."
    filters = {name: value for name in ("days", *FILTER_FIELDS) if (value := getattr(scope, name))}
    ops_url = f"{reverse('admin:report_ops')}?{urlencode({**filters, 'sort': MOST_FAILED_FIRST})}"
    return VerdictBox(text, get_tone(verdict), [("See which ops fail", ops_url)] if total.failed else [])


def build_ops_verdict(
    figures_by_op: Mapping[str, OpFigures], problems: Mapping[str, str | None], urls: Mapping[str, str]
) -> VerdictBox:
    """Return the op to start with, if one fails more often than all others together."""
    calls, failed = (sum(getattr(each, name) for each in figures_by_op.values()) for name in ("calls", "failed"))
    if calls < MIN_SAMPLE:
        return VerdictBox(f"Not enough data yet: {calls} of {MIN_SAMPLE} calls.")
    worst = find_worst_op(figures_by_op)
    if worst is None:
        return VerdictBox(f"{_describe_calls(failed, calls)}. No op fails clearly more often than the others.")
    problem = f", most often {problems[worst.op]}" if problems.get(worst.op) else ""
    own, others = (_describe_calls(each.hits, each.total) for each in (worst.own, worst.others))
    text = f"Start with {worst.op}: {own}{problem}. Of the other ops, {others}."
    return VerdictBox(text, "warning", [(f"Open {worst.op}", urls[worst.op])] if worst.op in urls else [])


def _describe_calls(failed: int, calls: int) -> str:
    return f"{tables.format_rate(failed / calls if calls else 0)} of {tables.format_count(calls)} calls failed"


def _link_cohort(name: str) -> list[tuple[str, str]]:
    keys = Cohort.objects.filter(name=name).values_list("pk", flat=True)
    return [(f"Open {name}", reverse("admin:analytics_cohort_change", args=[pk])) for pk in keys]


def _describe_releases(name: str, other: str) -> tuple[list[str], Mapping[Advice, str], list[tuple[str, str]]]:
    """Return the labels of two releases, what to advise about the first one, and a link to its page."""
    labels = list(label_values("release", [name, other]).values())
    is_live = Activation.objects.filter(is_live=True, release_id=name).exists()
    is_stored = Release.objects.filter(pk=name).exists()
    links = [(f"Open {labels[0]}", reverse("admin:registry_release_change", args=[name]))] if is_stored else []
    return labels, LIVE_RELEASE_ADVICE if is_live else RELEASE_ADVICE, links
