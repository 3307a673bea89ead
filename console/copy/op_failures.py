"""Why the calls of an op fail: the causes of the last days, with the way to a rule and to the events of each."""

from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest

from analytics import reports
from analytics.events import problems
from analytics.events.event_filters import CALL, CountedAs
from analytics.reports.report_filter import ReportFilter
from console.activity.events import PROBLEM_PARAMETER
from console.reports import suggested_edits
from console.reports.parts import report_query
from registry.catalog.model import Catalog
from registry.models import Op
from registry.snapshot import snapshot
from registry.vocabulary import NO_VOCABULARY

MAX_CAUSES = 5


class FailureCause(NamedTuple):
    """What went wrong in how many calls, the URL of their events, and that of the edit that prevents them."""

    text: str
    times: int
    events: str
    edit_label: str
    edit: str  # "" if the user cannot edit, or if no edit of this op would help


def list_causes(request: HttpRequest, op: Op, *, live: Catalog | None, at: datetime) -> list[FailureCause]:
    """Return the most frequent causes of failed calls, for users who can see events."""
    if not request.user.has_perm("analytics.view_operationevent"):
        return []
    scope = ReportFilter(at, days=reports.DAYS)
    events = scope.select_events().filter(CALL, op=op.op)
    failed_url = report_query.to_events_of_op(scope, CountedAs.FAILED, op.op)
    may_edit = request.user.has_perm("registry.change_op")
    entry, words = snapshot.op_to_entry(op), live.vocabulary if live else NO_VOCABULARY
    causes = []
    for cause in problems.count_causes(events).most_frequent[:MAX_CAUSES]:
        problem, label, edit = cause.problem, "", ""
        if may_edit and problem.field_code:
            suggested = suggested_edits.suggest_for_field_error(problem.pointer, problem.field_code, entry, words)
            evidence = f"{problem.text}, {cause.times:,} times in {reports.DAYS} days"
            label, edit = suggested.label, suggested_edits.build_edit_url(suggested, evidence=evidence)
        url = f"{failed_url}&{urlencode({PROBLEM_PARAMETER: problem.key})}"
        causes.append(FailureCause(problem.text, cause.times, url, label, edit))
    return causes
