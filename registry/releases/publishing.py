"""Publishing: freeze the draft into a release and make it live."""

import json
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from django.conf import settings

from core import memory
from core.text import json_text
from registry import checks
from registry.catalog import builder, cache
from registry.drafts import draft
from registry.evals import evaluation
from registry.evals.comparison import EvalComparison
from registry.help import token_counts
from registry.models import Op, Release
from registry.releases import draft_problems, lifecycle, selection, stored_releases
from registry.releases.selection import DraftSelection
from registry.releases.stored_releases import EntryKey
from registry.snapshot import diff, snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.entries import Snapshot

ShowProgress = Callable[[str], None]  # takes what is done now, such as "Counting tokens"


def show_no_progress(_: str) -> None:
    """Show nothing: nobody waits on a page."""


def find_new_warnings(content: Snapshot, counts: checks.TokenCountsByOp, *, version: str = "") -> list[checks.Finding]:
    """Return the warnings of a snapshot that the live release does not have, without hints."""
    findings = find_new_findings(content, counts, version=version)
    return [each for each in findings if each.severity != checks.Severity.HINTS]


def find_new_findings(content: Snapshot, counts: checks.TokenCountsByOp, *, version: str = "") -> list[checks.Finding]:
    """Return the warnings and hints of a snapshot that the live release does not have.

    With the `version` of the content, the last result is kept: what was just reviewed is published at once.
    """
    global _last_findings
    live, imported = stored_releases.get_live_release(), checks.get_imported_paths()
    key = (version, live.version if live else None, imported)
    if not version:
        return _compare_findings(content, counts, live, imported)
    if _last_findings is None or _last_findings[0] != key:
        _last_findings = key, _compare_findings(content, counts, live, imported)
    return _last_findings[1]


_last_findings: tuple[tuple[str, str | None, frozenset[str]], list[checks.Finding]] | None = None


def _compare_findings(
    content: Snapshot, counts: checks.TokenCountsByOp, live: Release | None, imported: frozenset[str]
) -> list[checks.Finding]:
    if live is None:
        return checks.find_warnings(content, counts, imported=imported)
    before = json.loads(live.content)
    found_warnings = checks.find_warnings(
        content, counts, imported=imported, only=_find_names_to_check(before, content)
    )
    if not found_warnings:
        return []
    # Check only those live ops that have warnings now: others cannot match one.
    only = {warning.op for warning in found_warnings}
    return checks.select_new_findings(
        found_warnings, checks.find_warnings(before, live.tokens, imported=imported, only=only)
    )


def _find_names_to_check(before: Snapshot, after: Snapshot) -> set[str] | None:
    """Return the names of the entries whose warnings may differ from before; None means all.

    These are the changed entries. Unchanged text can only get a new warning if an op that it names is gone, so then all
    entries are checked. Two summaries that became similar are reported at the one that changed.
    """
    names = set[str]()
    for kind in COPY_KINDS:
        old_entries, new_entries = diff.index_entries(before, kind), diff.index_entries(after, kind)
        if kind == Kind.OP and (_collect_active_names(before) - _collect_active_names(after)):
            return None
        names |= {name for name, entry in new_entries.items() if old_entries.get(name) != entry}
    return names


def _collect_active_names(content: Snapshot) -> set[str]:
    """Return all names of the active ops."""
    running = (op for op in content["ops"] if snapshot.get_value(op, "status") == Op.Status.ACTIVE)
    return {name for op in running for name in checks.list_op_names(op)}


class NotPublishable(Exception):
    """The draft would break serving. `problems` lists what to fix."""

    def __init__(self, problems: Sequence[checks.Finding]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:5]))
        self.problems = list(problems)


class ReasonMissing(Exception):
    """The draft has warnings that the live release does not, and no reason was given. `warnings` lists them."""

    def __init__(self, warnings: Sequence[checks.Finding]) -> None:
        super().__init__("; ".join(str(warning) for warning in warnings[:5]))
        self.warnings = list(warnings)


class LossReasonMissing(Exception):
    """The draft loses more eval cases than the margin allows, and no reason was given."""

    def __init__(self, compared: EvalComparison) -> None:
        lost = [each.case.request for each in compared.lost]
        super().__init__(
            f"The draft loses more than {settings.GATEWAY_EVAL_MARGIN} points of a hit rate of its eval cases. Fix the "
            f"lost cases, or give a reason to publish anyway. Lost: {len(lost)}, such as: {'; '.join(lost[:3])}"
        )
        self.compared = compared


def compute_draft_version() -> str:
    """Return the version that publishing the current draft would create; empty if no release could store it."""
    return snapshot.compute_version(snapshot.snapshot_draft())


def publish_draft(
    *,
    note: str,
    by: str,
    at: datetime,
    accepted: str = "",
    seen: str = "",
    accepted_loss: str = "",
    only: Collection[EntryKey] | None = None,
    progress: ShowProgress = show_no_progress,
) -> Release:
    """Freeze the draft and make it live. The same content gives the same release.

    With `only`, the release is the live one with these entries of the draft put in.

    `accepted` is the reason for accepting warnings that the live release does not have; it is stored with them. It is
    not needed if the release exists already. `accepted_loss` is the reason for losing more eval cases than the margin
    allows; it is stored in the release history. `seen` is the version of the release that the user reviewed.
    `progress` is called with each step, in words.

    Raises NotPublishable, ReasonMissing, LossReasonMissing, draft.DraftChanged, AlreadyLive, LiveChanged, and
    AlreadyWithdrawn if the draft equals a withdrawn release.
    """
    release, compared, chosen = _freeze(
        by=by, at=at, accepted=accepted, accepted_loss=accepted_loss, seen=seen, only=only, progress=progress
    )
    progress("Making the release live")
    lifecycle.activate_release(
        version=release.version,
        note=note,
        by=by,
        at=at,
        eval_figures=compared.as_figures() if compared else {},
        lost_because=accepted_loss.strip() if evaluation.exceeds_margin(compared) else "",
        replaces=chosen.live.version if chosen.live else "",
        audited=chosen.list_audit_values(),
    )
    return release


def freeze_draft(
    *,
    by: str,
    at: datetime,
    accepted: str = "",
    seen: str = "",
    accepted_loss: str = "",
    only: Collection[EntryKey] | None = None,
) -> Release:
    """Freeze the draft into an immutable release, without making it live.

    See `publish_draft` for the arguments. Raises NotPublishable, ReasonMissing, LossReasonMissing, draft.DraftChanged.
    """
    return _freeze(by=by, at=at, accepted=accepted, accepted_loss=accepted_loss, seen=seen, only=only)[0]


def _freeze(
    *,
    by: str,
    at: datetime,
    accepted: str,
    accepted_loss: str,
    seen: str,
    only: Collection[EntryKey] | None,
    progress: ShowProgress = show_no_progress,
) -> tuple[Release, EvalComparison | None, DraftSelection]:
    with memory.pause_gc():
        progress("Checking the draft")
        chosen = selection.load_whole_draft() if only is None else selection.load_entries(only)
        frozen = _check_publishable(chosen.after, seen=seen)
        progress("Running the eval cases")
        compared = evaluation.compare_with_live(frozen.version, frozen.content, chosen.live)
        if compared and evaluation.exceeds_margin(compared) and not accepted_loss.strip():
            raise LossReasonMissing(compared)
        progress(f"Counting the tokens of {len(frozen.content['ops']):,} ops")
        release = _get_or_create_release(frozen, chosen, by=by, at=at, accepted=accepted)
        return release, compared, chosen.without_contents()


class _PublishableContent(NamedTuple):
    """The content of a release to be, its canonical JSON and the hash of that."""

    content: Snapshot
    text: str
    version: str


def _check_publishable(content: Snapshot, *, seen: str) -> _PublishableContent:
    try:
        content_json = json_text.canonicalize(content)
    except ValueError:  # the problems report it for each op
        raise NotPublishable(draft_problems.find_problems(content)) from None
    text, version = content_json.decode(), json_text.hash_canonical_form(content_json)
    problems = draft_problems.find_problems(content, canonical_text=text)
    if not stored_releases.is_live(
        version
    ):  # what is already live changes nothing for models, and must not stop a start
        problems += checks.find_unrunnable_ops(content["ops"])
    if problems:
        raise NotPublishable(problems)
    if seen and seen != version:
        raise draft.DraftChanged("The draft has changed since you reviewed it. Review the changes again.")
    return _PublishableContent(content, text, version)


def _get_or_create_release(
    frozen: _PublishableContent, chosen: DraftSelection, *, by: str, at: datetime, accepted: str
) -> Release:
    if release := Release.objects.filter(version=frozen.version).first():
        return release
    # Counted on what will be served: its keys have the order of the frozen text.
    catalog = builder.build_catalog(frozen.version, json.loads(frozen.text), similar=cache.get_newest())
    counts = token_counts.count_catalog_tokens(catalog)
    warnings = find_new_warnings(frozen.content, counts, version=frozen.version)
    if warnings and not accepted.strip():
        raise ReasonMissing(warnings)
    release, _ = Release.objects.get_or_create(
        version=frozen.version,
        defaults={
            "content": frozen.text,
            "tokens": counts,
            "op_count": len(frozen.content["ops"]),
            "accepted_warnings": [warning.as_dict() for warning in warnings],
            "accepted_because": accepted.strip() if warnings else "",
            "base": "" if chosen.is_complete or chosen.live is None else chosen.live.version,
            "selected_entries": None if chosen.is_complete else [[*key] for key in sorted(chosen.keys)],
            "created_at": at,
            "created_by": by,
        },
    )
    return release


def count_tokens(content: Snapshot) -> dict[str, list[int]]:
    """Return the token counts of a snapshot's help (see `sizes.token_counts`), skipping ops that cannot be served."""
    servable = {**content, "ops": [op for op in content["ops"] if not checks.find_op_errors(op)]}
    return token_counts.count_catalog_tokens(builder.build_catalog("", json.loads(json_text.canonicalize(servable))))


def has_unpublished_edits() -> bool:
    """Return whether the draft differs from the live release. False before the first release."""
    live = stored_releases.get_live_release()
    return live is not None and compute_draft_version() != live.version


def publish_loaded_copy(*, had_edits: bool, note: str, by: str, at: datetime) -> str:
    """Publish the draft unless it had edits before loading, and return what was done. Raises NotPublishable."""
    if had_edits:
        return "Not published: the draft has unpublished edits. Review them first."
    try:
        release = publish_draft(note=note, by=by, at=at, accepted=note, accepted_loss=note)
    except lifecycle.AlreadyLive:
        return "The live release is up to date."
    return f"Release {release.version[:12]} with {release.op_count} ops is live."
