"""Texts of the review page: a note made from the changes, what to discard, and what comes after publishing."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from urllib.parse import urlencode

from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator, capfirst

from analytics import reports
from console import diff_view
from registry.models import Release
from registry.releases import stored_releases, unpublished
from registry.releases.help_diff import EntryDifference, TokenCounts
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import Action, CopyChange

MAX_NAMED = 3  # changes with their names
MAX_LENGTH = 200  # characters of a note
VERBS = {Action.ADDED: "add", Action.CHANGED: "change", Action.REMOVED: "remove"}


def suggest_note(changes: Sequence[CopyChange]) -> str:
    """Return what some changes do: "Change summary of onto.task.add, add onto.task.copy"; or counts of many."""
    if len(changes) <= MAX_NAMED:
        parts = [_describe_change(change) for change in changes]
    else:
        by_verb = [(verb, [each for each in changes if each.action == action]) for action, verb in VERBS.items()]
        parts = [f"{verb} {_count_changes(chosen)}" for verb, chosen in by_verb if chosen]
    return capfirst(Truncator(", ".join(parts)).chars(MAX_LENGTH))


def _count_changes(changes: Sequence[CopyChange]) -> str:
    """Return the number of changes of each kind: "3 ops", or "clinic: 8 ops and 4 groups" if all are in one group."""
    counts = diff_view.format_change_counts(changes)
    kinds, roots = ({each.kind for each in changes}, {each.name.partition(".")[0] for each in changes})
    is_in_one_group = kinds == {Kind.OP, Kind.GROUP} and len(roots) == 1
    return f"{roots.pop()}: {counts}" if is_in_one_group else counts


def label_discarding(differences: Sequence[EntryDifference], count: int, *, user: str) -> str:
    """Return the label of the button that discards changes. If not all are the user's, its page offers a choice."""
    editors = {name for each in differences for name in each.editors or ("",)}
    is_own = len(differences) == count and editors == {user}
    if not is_own:
        return "Discard the change" if count == 1 else "Discard changes…"
    return f"Discard your {count:,} change{pluralize(count)}"


def describe_published(release: Release) -> SafeString:
    """Return that a release is live, with links to what people do next."""
    links = [(f"{reverse('admin:report_overview')}?{urlencode({'release': release.version})}", "Watch it")]
    with suppress(stored_releases.UnknownRelease):
        before = stored_releases.get_previous_release()
        links.append((reverse("admin:registry_release_make_live", args=[before.pk]), "Roll back"))
    left = sum(map(len, unpublished.find_unpublished_names().values())) if release.base else 0
    if left:
        links.append((reverse("admin:registry_release_review"), f"Review {left:,} more change{pluralize(left)}"))
    linked = format_html_join(" · ", '<a class="underline" href="{}">{}</a>', links)
    return format_html("Release {} is live with {} ops. {}.", release.short_name, release.op_count, linked)


def format_daily_cost(tokens_by_op: Mapping[str, TokenCounts]) -> str:
    """Return the daily cost of the changed ops in words, from recent reads; empty if it does not change."""
    tokens_by_op = {op: more for op, more in tokens_by_op.items() if any(more)}
    if not tokens_by_op:
        return ""
    reads_by_op = reports.average_daily_reads_by_op(at=timezone.now())
    reads = {
        op: reads_by_op[op]
        for op in tokens_by_op
        if op in reads_by_op and (reads_by_op[op].short or reads_by_op[op].full)
    }
    if not reads:
        return f"not read in the last {reports.DAYS} days"
    return diff_view.format_daily_cost(
        sum(tokens_by_op[op][0] * each.short + tokens_by_op[op][1] * each.full for op, each in reads.items())
    )


def _describe_change(change: CopyChange) -> str:
    if change.action != Action.CHANGED:
        return f"{VERBS[change.action]} {change.name}"
    fields = [name.replace("_", " ") for name in change.fields]
    return f"change {' and '.join(fields) if len(fields) < MAX_NAMED else f'{len(fields)} fields'} of {change.name}"
