"""Verdicts on a comparison, as boxes and in sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from analytics.experiments.cohorts import comparison
from analytics.experiments.cohorts.comparison import ComparisonVerdict, MetricComparison, Proportion
from analytics.experiments.cohorts.verdicts import Advice, Verdict, judge
from analytics.experiments.proportions import ConfidenceInterval
from analytics.experiments.statistics import MIN_SUBJECTS
from analytics.flags import FLAGS, FlagKey
from analytics.reports.op_figures import OpFigures
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from analytics.rollout.models import Cohort
from console.reports.parts import tables
from console.reports.parts.report_query import format_days, label_values
from registry.models import Activation, Release

# Hits of each metric, as in "4.4 points fewer failures".
HITS = {
    "failure_rate": "failed calls",
    "repair_rate": "repaired failures",
    "turn_success": "turns with a successful call",
    "thumbs_up": "thumbs up",
    "unknown_turns": "turns with an unknown name",
    "loop_rate": "turns with a loop",
    "miss_rate": "searches that found nothing",
}
TONES = {Advice.WIDEN: "good", Advice.STOP: "bad", Advice.HOLD: "warning"}  # of others: neutral
EVERYONE_ELSE = "users in no cohort"
COHORT_ADVICE = {
    Advice.WIDEN: "Widen it.",
    Advice.STOP: "Stop or narrow it.",
    Advice.HOLD: "Do not widen it yet.",
    Advice.NO_DIFFERENCE: "Wait for more data, or decide by other criteria.",
}
LIST_ADVICE = COHORT_ADVICE | {Advice.WIDEN: "Give it to a share of the other users as well."}  # a list is not widened
RELEASE_ADVICE = {
    Advice.WIDEN: "Give it to more users.",
    Advice.STOP: "Give it to fewer users.",
    Advice.HOLD: "Do not give it to more users yet.",
    Advice.NO_DIFFERENCE: "Wait for more data, or decide by other criteria.",
}
LIVE_RELEASE_ADVICE = RELEASE_ADVICE | {
    Advice.WIDEN: "Keep it live.",
    Advice.STOP: "Consider rolling it back.",
    Advice.HOLD: "Look into that before you keep it.",
}
MOST_FAILED_FIRST = "-2"  # the report by op, sorted


def format_share(share: Proportion) -> str:
    return "–" if share.rate is None else f"{tables.format_rate(share.rate)} of {tables.format_count(share.total)}"


def describe_comparison(each: MetricComparison) -> str:
    """Return the difference between the sides in words, or how much data is missing."""
    if each.interval is None and _is_all_shared(each):
        return "Not compared: the users are on both sides."
    if each.interval is None:
        wait_text = f"; about {_count_days(each.days_to_wait)}" if each.days_to_wait else ""
        return f"Not enough data: {_count_users(min(each.subjects))}{wait_text}."
    if each.verdict == ComparisonVerdict.NONE:
        low, high = (format_signed(end, each.interval) for end in each.interval)
        is_clear_alone = not each.interval.low <= 0 <= each.interval.high
        doubt = "May be chance, as one of several rates" if is_clear_alone else "No difference beyond chance"
        return f"{doubt}: between {low} and {high} points."
    return f"{'Better' if each.verdict == ComparisonVerdict.BETTER else 'Worse'}: {describe_range(each.interval)}"


def describe_range(interval: ConfidenceInterval) -> str:
    """Describe the distance from zero of an interval that does not contain zero."""
    return f"{format_distances(interval)} points {'lower' if interval.high < 0 else 'higher'}."


def format_distances(interval: ConfidenceInterval) -> str:
    """Return the distances from zero of both ends of an interval that does not contain zero, the nearer one first."""
    near, far = sorted(abs(end) for end in interval)
    nearer = format_magnitude(near, interval)
    return f"{nearer if float(nearer) else 'less than 0.1'} to {format_magnitude(far, interval)}"


def format_points(difference: float, interval: ConfidenceInterval) -> str:
    return f"{format_signed(difference, interval)} points"


def format_signed(value: float, interval: ConfidenceInterval) -> str:
    magnitude = format_magnitude(abs(value), interval)
    return magnitude if not float(magnitude) else f"{'−' if value < 0 else '+'}{magnitude}"


def format_magnitude(value: float, interval: ConfidenceInterval) -> str:
    """Return percentage points, with a decimal if the interval is narrower than 10 points or ends close to zero."""
    is_narrow = interval.high - interval.low < 0.1 or min(abs(end) for end in interval) < 0.01
    return f"{value * 100:.{1 if is_narrow else 0}f}"


@dataclass(frozen=True, slots=True)
class VerdictBox:
    """The verdict at the top of a page, with links to act on it."""

    text: str
    tone: str = "neutral"
    links: Sequence[tuple[str, str]] = ()  # label, URL


def describe_verdict(verdict: Verdict, name: str, other: str, advice_texts: Mapping[Advice, str]) -> str:
    """Return what the figures say about `name` against `other`, and what to do about it."""
    sentence = f"{name}: {_describe_reason(verdict, other)}"
    advice = advice_texts.get(verdict.advice, "")
    return f"{sentence} {advice}".strip()


def get_tone(verdict: Verdict) -> str:
    """Return the colour of the box, by what the verdict says."""
    return TONES.get(verdict.advice, "neutral")


def describe_difference(each: MetricComparison, than: str = "") -> str:
    """Return a difference beyond chance with its interval: "4.4 points fewer failed calls than copy-a (2.9 to 5.9)"."""
    if each.interval is None or each.difference is None:
        raise ValueError("There is no difference without an interval.")
    direction = "fewer" if each.difference < 0 else "more"
    points = format_magnitude(abs(each.difference), each.interval)
    return f"{points} points {direction} {HITS[each.metric.name]}{than} ({format_distances(each.interval)})"


def _describe_reason(verdict: Verdict, other: str) -> str:
    reason = verdict.reason
    if reason.interval is None:
        return _describe_wait(reason, other)
    if verdict.advice == Advice.NO_DIFFERENCE:
        low, high = (format_signed(end, reason.interval) for end in reason.interval)
        sentence = (
            f"no difference in {HITS[reason.metric.name]} from {other} beyond chance (between {low} and {high} points)"
        )
        return f"{sentence}{_list_others(', but ', verdict.better)}."
    sentence = describe_difference(reason, f" than {other}")
    if verdict.advice == Advice.WIDEN:
        return f"{sentence}, and no rate of all calls together got worse."
    return f"{sentence}{_list_others(', and ', verdict.worse)}{_list_others(', but ', verdict.better)}."


def _describe_wait(reason: MetricComparison, other: str) -> str:
    """Return how many users are missing on the side with fewer, or that no user is on one side only."""
    if _is_all_shared(reason):
        return f"not comparable with {other}, because its users are in both. Compare it with {EVERYONE_ELSE}."
    counts = _count_users(min(reason.subjects))
    if reason.subjects[0] < reason.subjects[1]:
        counts += f" from {other}"
    if reason.days_to_wait is None:
        return f"not enough data yet: {counts}."
    return f"not enough data yet: {counts}, so about {_count_days(reason.days_to_wait)} at this rate."


def _is_all_shared(each: MetricComparison) -> bool:
    """Return whether a side has no user of its own: two cohorts of different flags can share users."""
    return bool(each.shared_subjects) and not min(each.subjects)


def _count_users(count: int) -> str:
    return f"{count:,} of {MIN_SUBJECTS} users"


def _count_days(days: int) -> str:
    return f"{days:,} more day{'' if days == 1 else 's'}"


def _list_others(prefix: str, comparisons: Sequence[MetricComparison]) -> str:
    return prefix + " and ".join(map(describe_difference, comparisons)) if comparisons else ""


def explain_no_comparison(cohort: Cohort) -> str:
    """Return why a cohort is not compared with users in no cohort; "" if it is.

    An arm has its own control, and a second verdict would contradict that of its experiment.
    """
    experiment = cohort.experiment
    if experiment and experiment.decision != experiment.Decision.SHIP:
        return f"{cohort.name} is an arm of the experiment {experiment}, whose page has the verdict."
    if cohort.variant == FLAGS[FlagKey(cohort.flag_id)].default:
        return f"{cohort.name} gets the default, {cohort.variant}, like {EVERYONE_ELSE}. There is nothing to compare."
    if cohort.flag_id != FlagKey.RELEASE:
        return ""
    if not Activation.objects.filter(is_live=True, release_id=cohort.variant).exists():
        return ""
    return f"{cohort.name} reads the live release, like {EVERYONE_ELSE}. There is nothing to compare."


def choose_cohort_advice(cohort: Cohort) -> Mapping[Advice, str]:
    """Return what to advise about a cohort in its state."""
    if not cohort.is_on:
        return dict.fromkeys(Advice, "It is off.")
    if cohort.percentage >= 100:
        return COHORT_ADVICE | {Advice.WIDEN: "Already at 100%."}
    return COHORT_ADVICE if cohort.percentage else LIST_ADVICE


def build_sides_verdict(by: str, pair: tuple[str, str], comparisons: Sequence[MetricComparison]) -> VerdictBox:
    """Return the verdict on the second side of comparisons."""
    other, name = pair
    advice: Mapping[Advice, str] = COHORT_ADVICE
    if by == "cohort" and other == NO_COHORT:
        for cohort in Cohort.objects.filter(name=name, flag__in=list(FlagKey)):
            if same := explain_no_comparison(cohort):
                return VerdictBox(same, links=_link_cohort(name))
            advice = choose_cohort_advice(cohort)
    verdict = judge(comparisons)
    if by == "cohort":
        labels, links = [name, other], _link_cohort(name)
    else:
        labels, advice, links = _describe_releases(name, other)
    label, other_label = (EVERYONE_ELSE if each == NO_COHORT else each for each in labels)
    return VerdictBox(describe_verdict(verdict, label, other_label, advice), get_tone(verdict), links)


def build_period_summary(scope: ReportFilter, total: Totals, before: Totals) -> VerdictBox:
    """Return how often calls failed in the period and in the one before. It claims nothing: tasks differ, too."""
    label = f"Last {scope.days} days" if scope.last is None else format_days(scope)
    text = f"{label}: {_describe_calls(total.failed, total.calls)}."
    if before.calls:
        rate = tables.format_rate(before.failed / before.calls)
        text += f" In the {scope.days} days before, it was {rate} of {tables.format_count(before.calls)}."
    else:
        text += " There are no earlier calls to compare with."
    parameters = {**scope.list_parameters(), "sort": MOST_FAILED_FIRST}
    ops_url = f"{reverse('admin:report_ops')}?{urlencode(parameters)}"
    return VerdictBox(text, links=[("See which ops fail", ops_url)] if total.failed else [])


def build_ops_verdict(
    scope: ReportFilter,
    figures_by_op: Mapping[str, OpFigures],
    problems: Mapping[str, str | None],
    urls: Mapping[str, str],
) -> VerdictBox:
    """Return the op to start with, if one fails more often than all others together."""
    calls, failed = (sum(getattr(each, name) for each in figures_by_op.values()) for name in ("calls", "failed"))
    worst = comparison.find_worst_op(scope, figures_by_op)
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
