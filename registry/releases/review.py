"""Review the draft before publishing: what changes for models, and what the checks find."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core import memory
from core.text import json_text
from registry import checks
from registry.checks import Finding
from registry.drafts import history
from registry.evals import evaluation
from registry.evals.comparison import EvalComparison
from registry.models import Release
from registry.releases import draft_problems, help_diff, publishing, selection, stored_releases
from registry.releases.help_diff import EntryDifference, TokenCounts
from registry.releases.selection import ChooseChanges, DraftSelection, MissingChanges
from registry.snapshot.diff import CopyChange, Kind
from registry.snapshot.entries import Snapshot


@dataclass(frozen=True)
class ReviewVerdict:
    """The findings in a draft, and how many tokens its short and full help gain over the live release."""

    problems: list[Finding]  # these block publishing
    warnings: list[Finding]  # warnings that the live release does not have
    hints: list[Finding]  # the same of hints
    tokens: TokenCounts
    tokens_by_op: dict[
        str, TokenCounts
    ]  # the same for each op that is live and stays; only these have reading statistics
    new_tokens: dict[str, TokenCounts]  # those of each op that is not live


@dataclass(frozen=True)
class DraftReview:
    """The selected changes of the draft, and the release that they would make."""

    version: str  # the version that publishing would create
    selection: DraftSelection
    same_release: Release | None  # an existing release with this content; its warnings are accepted already
    verdict: ReviewVerdict
    missing: list[MissingChanges]  # findings of the verdict that other changes, which are not selected, would resolve
    evals: EvalComparison | None  # None without active eval cases

    @property
    def live(self) -> Release | None:
        return self.selection.live

    @property
    def changes(self) -> list[CopyChange]:
        """The selected changes."""
        return self.selection.changes

    @property
    def needs_loss_reason(self) -> bool:
        """Whether publishing needs a reason for losing eval cases."""
        return evaluation.exceeds_margin(self.evals)

    @property
    def seen(self) -> str:
        """A stamp that changes whenever the selected entries or the live release change."""
        return f"{self.version}.{self.live.version if self.live else ''}"

    def build_differences(self, changes: Sequence[CopyChange]) -> list[EntryDifference]:
        """Return some of the changes word by word, with their editors."""
        editors = history.list_editors(since=stored_releases.load_freeze_times()[1])
        return help_diff.build_differences(changes, self.selection.before, self.selection.after, editors=editors)


@memory.pause_gc()  # thousands of ops make a million objects; collecting garbage would double the time
def review_draft(choose: ChooseChanges | None = None) -> DraftReview:
    """Return the changes of the draft that `choose` picks, compared with the live release; all without it."""
    global _cached_verdict
    chosen = selection.load_selection(choose)
    after, live, found_changes = chosen.after, chosen.live, chosen.changes
    try:
        frozen = json_text.canonicalize(after)
    except ValueError:  # the problems name the entry
        frozen = b""
    version = json_text.hash_canonical_form(frozen)
    same_release = Release.objects.filter(version=version).first()
    cache_key = version, live.version if live else ""
    with _checking:
        if _cached_verdict is None or _cached_verdict[0] != cache_key:
            is_known, canonical_text = same_release is not None, frozen.decode() or None
            checked = _check_draft(
                after, found_changes, live, version=version, frozen=canonical_text, is_known=is_known
            )
            _cached_verdict = cache_key, checked
        verdict = _cached_verdict[1]
    if unrunnable := checks.find_unrunnable_ops(after["ops"]):  # not cached: connections may change without the draft
        verdict = replace(verdict, problems=[*verdict.problems, *unrunnable], warnings=[])
    evals = evaluation.compare_with_live(version, after, live, blocked={finding.op for finding in verdict.problems})
    missing = selection.find_missing(chosen, verdict.problems) or selection.find_missing(
        chosen, verdict.warnings, _find_problems_or_warnings
    )
    return DraftReview(version, chosen, same_release, verdict, missing, evals)


# Cache of the last verdict: a large draft is reviewed page by page, and checking takes longer than comparing.
_cached_verdict: tuple[tuple[str, str], ReviewVerdict] | None = None
_checking = threading.Lock()  # people open the review at the same time: one check is enough for all


def _check_draft(
    content: Snapshot,
    changes: list[CopyChange],
    live: Release | None,
    *,
    version: str,
    frozen: str | None,
    is_known: bool,
) -> ReviewVerdict:
    names = {change.name for change in changes if change.kind == Kind.OP}
    changed = [op for op in content["ops"] if op["op"] in names]
    counts = publishing.count_tokens({"groups": [], "ops": changed})
    problems = draft_problems.find_problems(content, canonical_text=frozen, changes=changes)
    findings = [] if problems or is_known else publishing.find_new_findings(content, counts, version=version)
    hints = [finding for finding in findings if finding.severity == checks.Severity.HINTS]
    warnings = [finding for finding in findings if finding.severity != checks.Severity.HINTS]
    before = live.tokens if live else {}
    tokens_by_op = {
        name: _sum_added_tokens(counts, before, {name}) for name in sorted(names) if name in counts and name in before
    }
    new_tokens = {name: _sum_added_tokens(counts, before, {name}) for name in names if name not in before}
    return ReviewVerdict(problems, warnings, hints, _sum_added_tokens(counts, before, names), tokens_by_op, new_tokens)


def _find_problems_or_warnings(chosen: DraftSelection) -> list[Finding]:
    return selection.find_problems(chosen) or publishing.find_new_warnings(chosen.after, {})


def _sum_added_tokens(counts: checks.TokenCountsByOp, before: checks.TokenCountsByOp, names: set[str]) -> TokenCounts:
    none = (0, 0)
    short, full = (
        sum(counts.get(name, none)[form] - before.get(name, none)[form] for name in names) for form in (0, 1)
    )
    return short, full
