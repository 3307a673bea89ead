"""Publishing: freeze the draft into a release and move the one live pointer."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from analytics import audit
from analytics.models import AuditEntry
from core import canonical_json, gc_pause
from registry import checks
from registry.catalog import builder, cache
from registry.drafts import draft, history
from registry.evals import evaluation
from registry.evals.comparison import EvalComparison
from registry.help import token_counts
from registry.models import Activation, Op, Release
from registry.snapshot import diff, snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.diff import Action, CopyChange

MAX_NUMBER_DIGITS = 9  # of the number of a release, as in r12
MIN_VERSION_PREFIX = 6  # characters of a version needed to find a release
LARGE_COLUMNS = ("release__content", "release__tokens", "release__accepted_warnings")  # large columns, to be deferred


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
            f"The draft loses more than {settings.GATEWAY_EVAL_MARGIN} points of a hit rate of its eval cases. Improve "
            f"what was lost, or say why it is right to publish. Lost: {len(lost)}, such as: {'; '.join(lost[:3])}"
        )
        self.compared = compared


class AlreadyLive(Exception):
    """The release is live already; nothing was changed."""


class UnknownRelease(Exception):
    """No release matches this version, or more than one does."""


class AlreadyWithdrawn(Exception):
    """The release was withdrawn, so it can never be live or served again. The message has the reason."""


class ReleaseStillLive(Exception):
    """The release is live. Another one must be made live before it can be withdrawn."""


def get_live_release() -> Release | None:
    """Return the live release, or None if nothing has been published yet."""
    activation = Activation.objects.filter(is_live=True).select_related("release").first()
    return activation.release if activation else None


def is_live(version: str) -> bool:
    """Return whether the release with this version is live."""
    return Activation.objects.filter(is_live=True, release=version).exists()


def compute_draft_version() -> str:
    """Return the version that publishing the current draft would create."""
    return canonical_json.digest(snapshot.snapshot_draft())


def publish_draft(
    *, note: str, by: str, at: datetime, accepted: str = "", seen: str = "", accepted_loss: str = ""
) -> Release:
    """Freeze the draft and make it live. The same content gives the same release.

    `accepted` is the reason for accepting warnings that the live release does not have; it is stored with them. It is
    not needed if the release exists already. `accepted_loss` is the reason for losing more eval cases than the margin
    allows; it is stored in the release history. `seen` is the version of the draft that the user reviewed.

    Raises NotPublishable, ReasonMissing, LossReasonMissing, draft.DraftChanged, AlreadyLive, and AlreadyWithdrawn if
    the draft equals a withdrawn release.
    """
    with gc_pause.pause_gc():
        frozen = _read_publishable_draft(seen=seen)
        compared = evaluation.compare_with_live(frozen.version, frozen.content, get_live_release())
        is_loss = evaluation.exceeds_margin(compared)
        if compared and is_loss and not accepted_loss.strip():
            raise LossReasonMissing(compared)
        release = _get_or_create_release(frozen, by=by, at=at, accepted=accepted)
    activate_release(
        version=release.version,
        note=note,
        by=by,
        at=at,
        eval_figures=compared.as_figures() if compared else {},
        lost_because=accepted_loss.strip() if is_loss else "",
    )
    return release


def freeze_draft(*, by: str, at: datetime, accepted: str = "", seen: str = "") -> Release:
    """Freeze the draft into an immutable release, without making it live.

    See `publish_draft` for the arguments. Raises NotPublishable, ReasonMissing, and draft.DraftChanged.
    """
    with gc_pause.pause_gc():
        return _get_or_create_release(_read_publishable_draft(seen=seen), by=by, at=at, accepted=accepted)


class _PublishableDraft(NamedTuple):
    """The content of the draft, its canonical JSON and the hash of that."""

    content: dict[str, Any]
    text: str
    version: str


def _read_publishable_draft(*, seen: str) -> _PublishableDraft:
    content = snapshot.snapshot_draft()
    try:
        content_json = canonical_json.dumps(content)
    except ValueError:  # the problems report it for each op
        raise NotPublishable(checks.find_errors(content)) from None
    text, version = content_json.decode(), canonical_json.hash_canonical_form(content_json)
    problems = checks.find_errors(content, canonical_text=text)
    if not is_live(version):  # what is live already changes nothing for models, and starting must not fail for it
        problems += checks.find_unrunnable_ops(content["ops"])
    if problems:
        raise NotPublishable(problems)
    if seen and seen != version:
        raise draft.DraftChanged("The draft has changed since you reviewed it. Review the changes again.")
    return _PublishableDraft(content, text, version)


def _get_or_create_release(frozen: _PublishableDraft, *, by: str, at: datetime, accepted: str) -> Release:
    if release := Release.objects.filter(version=frozen.version).first():
        return release
    # Counted on what will be served: its keys have the order of the frozen text.
    counts = token_counts.count_catalog_tokens(builder.build_catalog(frozen.version, json.loads(frozen.text)))
    warnings = find_new_warnings(frozen.content, counts)
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
            "created_at": at,
            "created_by": by,
        },
    )
    return release


def find_new_warnings(content: dict[str, Any], counts: checks.TokenCountsByOp) -> list[checks.Finding]:
    """Return the warnings of a snapshot that the live release does not have."""
    imported = checks.get_imported_paths()
    live_release = get_live_release()
    if live_release is None:
        return checks.find_warnings(content, counts, imported=imported)
    before = json.loads(live_release.content)
    found_warnings = checks.find_warnings(
        content, counts, imported=imported, only=_find_names_to_check(before, content)
    )
    if not found_warnings:
        return []
    # Check only those live ops that have warnings now: others cannot match one.
    only = {warning.op for warning in found_warnings}
    return checks.select_new_findings(
        found_warnings, checks.find_warnings(before, live_release.tokens, imported=imported, only=only)
    )


def _find_names_to_check(before: dict[str, Any], after: dict[str, Any]) -> set[str] | None:
    """Return the names of the entries whose warnings may differ from before; None means all.

    These are the changed entries. Unchanged text can only get a new warning if an op that it names is gone, so then all
    entries are checked. Two summaries that became similar are reported at the one that changed.
    """
    names = set[str]()
    for kind in COPY_KINDS:
        old_entries, new_entries = diff.index_entries(before, kind), diff.index_entries(after, kind)
        if kind == Kind.OP and (_collect_active_names(old_entries) - _collect_active_names(new_entries)):
            return None
        names |= {name for name, entry in new_entries.items() if old_entries.get(name) != entry}
    return names


def _collect_active_names(ops: diff.EntriesByName) -> set[str]:
    """Return all names of the active ops."""
    running = (op for op in ops.values() if snapshot.get_value(op, "status") == Op.Status.ACTIVE)
    return {name for op in running for name in checks.list_op_names(op)}


def activate_release(
    *,
    version: str,
    note: str,
    by: str,
    at: datetime,
    eval_figures: dict[str, Any] | None = None,
    lost_because: str = "",
) -> Activation:
    """Make a release live. This process serves it at once, all others within two seconds.

    It asks for no reason if eval cases are lost: a rollback must not wait.

    Raises UnknownRelease, AlreadyWithdrawn, AlreadyLive.
    """
    with transaction.atomic():
        release = _lock_release(version)
        if release.withdrawn_at is not None:
            raise AlreadyWithdrawn(
                f"Release {release} was withdrawn by {release.withdrawn_by}: {release.withdrawn_reason}"
            )
        for current in Activation.objects.select_for_update().filter(is_live=True):
            if current.release_id == version:
                raise AlreadyLive(version)
        was_live = Activation.objects.filter(is_live=True).values_list("release_id", flat=True).first()
        action = AuditEntry.Action.MADE_LIVE if release.activations.exists() else AuditEntry.Action.PUBLISHED
        # If two users publish at once, the constraint of one live row makes one of them fail.
        Activation.objects.filter(is_live=True).update(is_live=False)
        activation = Activation.objects.create(
            release_id=version,
            note=note,
            activated_at=at,
            activated_by=by,
            is_live=True,
            eval_figures=eval_figures or {},
            lost_because=lost_because,
        )
        changes = {"live": [was_live, version]}
        audit.record_action(AuditEntry.Kind.RELEASE, version, action, by=by, at=at, note=note, changes=changes)
        transaction.on_commit(cache.refresh_live)
    return activation


def withdraw_release(*, version: str, reason: str, by: str, at: datetime) -> Release:
    """Withdraw a release permanently: it is no longer served and cannot be made live again.

    All processes stop serving it within two seconds (cache.get_catalog raises WithdrawnRelease).

    Raises UnknownRelease, ReleaseStillLive, AlreadyWithdrawn, and ValidationError if the reason is missing or too long.
    """
    reason = " ".join(reason.split())
    if not reason:
        raise ValidationError({"withdrawn_reason": "Give a reason. It is shown to anyone who asks for this release."})
    with transaction.atomic():
        release = _lock_release(version)
        if release.withdrawn_at is not None:
            raise AlreadyWithdrawn(
                f"Release {release} was withdrawn by {release.withdrawn_by}: {release.withdrawn_reason}"
            )
        if release.activations.filter(is_live=True).exists():
            raise ReleaseStillLive(f"Release {release} is live. Make another release live first.")
        release.withdrawn_at, release.withdrawn_by, release.withdrawn_reason = at, by, reason
        release.clean_fields(exclude=["content", "tokens"])
        release.save(update_fields=["withdrawn_at", "withdrawn_by", "withdrawn_reason"])
        change = CopyChange(Kind.RELEASE, version, Action.CHANGED, {"withdrawn": (False, True)})
        history.record_changes([change], by=by, at=at, note=reason)
        transaction.on_commit(cache.drop_withdrawn)
    return release


def name_release(release: Release, *, name: str, labels: Sequence[str], by: str, at: datetime) -> None:
    """Give a release a name and labels. They are no part of its content."""
    before = {"name": release.name, "labels": release.labels}
    release.name, release.labels = name.strip(), list(labels)
    release.save(update_fields=["name", "labels"])
    after = {"name": release.name, "labels": release.labels}
    audit.record_change(AuditEntry.Kind.RELEASE, release.version, before, after, by=by, at=at)


def find_release(version: str) -> Release:
    """Return the release whose version starts with `version`, or with a number such as r12. Raises UnknownRelease."""
    if numbered := _find_by_number(version):
        return numbered
    if len(version) < MIN_VERSION_PREFIX:
        raise UnknownRelease(f"Give at least {MIN_VERSION_PREFIX} characters of the version.")
    matches = list(Release.objects.filter(version__startswith=version).defer("content", "tokens")[:2])
    if not matches:
        raise UnknownRelease(f"No release has the version {version[:64]}.")
    if len(matches) > 1:
        raise UnknownRelease(f"More than one release starts with {version[:64]}. Give more characters.")
    return matches[0]


def _find_by_number(text: str) -> Release | None:
    digits = text.removeprefix("r")
    if not text.startswith("r") or not (digits.isascii() and digits.isdecimal()) or len(digits) > MAX_NUMBER_DIGITS:
        return None
    return Release.objects.filter(number=int(digits)).defer("content", "tokens").first()


def get_previous_release() -> Release:
    """Return the release that was live before the current one, skipping withdrawn ones. Raises UnknownRelease."""
    live_version = Activation.objects.filter(is_live=True).values_list("release_id", flat=True).first()
    earlier = Activation.objects.filter(is_live=False, release__withdrawn_at=None).select_related("release")
    activation = earlier.exclude(release=live_version).defer(*LARGE_COLUMNS).order_by("-activated_at", "-id").first()
    if activation is None:
        raise UnknownRelease("There is no earlier live release, or all were withdrawn.")
    return activation.release


def load_content(release: Release) -> dict[str, Any]:
    """Return a release's content as a snapshot (see registry.snapshot.snapshot)."""
    snapshot_content: dict[str, Any] = orjson.loads(
        release.content
    )  # canonical JSON, so orjson reads its numbers exactly
    return snapshot_content


def count_tokens(content: dict[str, Any]) -> dict[str, list[int]]:
    """Return the token counts of a snapshot's help (see `sizes.token_counts`), skipping ops that cannot be served."""
    servable = {**content, "ops": [op for op in content["ops"] if not checks.find_op_errors(op)]}
    return token_counts.count_catalog_tokens(builder.build_catalog("", json.loads(canonical_json.dumps(servable))))


def _lock_release(version: str) -> Release:
    release = Release.objects.select_for_update().defer("content", "tokens").filter(version=version).first()
    if release is None:
        raise UnknownRelease(f"No release has the version {version[:64]}.")
    return release
