"""How often a rule would have opened an alert in the last days: the job's decisions, replayed over sums of the past."""

import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from analytics.alerts import measurements
from analytics.alerts.decisions import AlertStep, choose_step
from analytics.alerts.measurements import PartSums, SumsByName
from analytics.alerts.models import AlertRule

DAYS = 7
MAX_ROWS = 300_000  # the newest events that are read; takes about a second
STEPS = 12  # in the period of a rule; each is a check. The job checks more often, so it may open an alert sooner


@dataclass(frozen=True, slots=True)
class RulePreview:
    """The openings of a rule by op, connection, … since a time."""

    since: datetime
    openings: Counter[str]


def preview_rule(rule: AlertRule, *, at: datetime) -> RulePreview | None:
    """Return what a rule, saved or not, would have opened. None if it watches a state, whose past is not known."""
    model = measurements.get_counted_model(rule)
    if model is None:
        return None
    since = at - timedelta(days=DAYS)
    newest = measurements.select_rows(model, since=since, until=at).order_by("-time")
    if oldest_read := newest.values_list("time", flat=True)[MAX_ROWS : MAX_ROWS + 1].first():
        since = oldest_read
    seconds = max(60, rule.minutes * 60 // STEPS)
    rows = measurements.select_rows(model, since=since, until=at)
    sums = [(number, by_name) for number, [by_name] in measurements.sum_by_step(rows, [rule], step_seconds=seconds)]
    return RulePreview(since, _replay(rule, sums, seconds))


def _replay(rule: AlertRule, steps: Iterable[tuple[int, SumsByName]], seconds: int) -> Counter[str]:
    """Return how often an alert of each name opens, if the rule is checked at the end of each step."""
    sums = dict(steps)
    period = math.ceil(rule.minutes * 60 / seconds)  # in steps
    window: deque[SumsByName] = deque(maxlen=period)
    totals: defaultdict[str, PartSums] = defaultdict(PartSums)
    exceeded_at: dict[str, datetime] = {}
    openings: Counter[str] = Counter()
    for number in range(min(sums, default=0), max(sums, default=-1) + 1):
        for name, past in (window[0] if len(window) == period else {}).items():
            totals[name] = totals[name].subtract(past)
        window.append(sums.get(number, {}))
        for name, added in window[-1].items():
            totals[name] = totals[name].add(added)
        at = datetime.fromtimestamp((number + 1) * seconds, UTC)
        for name in {name for name, each in totals.items() if each.count} | set(exceeded_at):
            step = choose_step(rule, totals[name].measure(rule), exceeded_at=exceeded_at.get(name), at=at)
            if step == AlertStep.CLOSE:
                del exceeded_at[name]
            elif step != AlertStep.STAY:
                openings[name] += step == AlertStep.OPEN
                exceeded_at[name] = at
    return openings
