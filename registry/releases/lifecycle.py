"""What happens to a release after it was frozen: it is made live, withdrawn, or named."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from audit import audit_log
from audit.models import AuditEntry
from core.text import notes
from registry.catalog import cache
from registry.drafts import history
from registry.models import Activation, Release
from registry.releases import stored_releases
from registry.releases.stored_releases import UnknownRelease
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import Action, CopyChange


class AlreadyLive(Exception):
    """The release is already live; nothing was changed."""


class LiveChanged(Exception):
    """Another release was made live in the meantime; nothing was changed."""

    def __init__(self) -> None:
        super().__init__("Another release was made live in the meantime. Review the changes again.")


class AlreadyWithdrawn(Exception):
    """The release was withdrawn, so it can never be live or served again. The message has the reason."""


class ReleaseStillLive(Exception):
    """The release is live. Another one must be made live before it can be withdrawn."""


def activate_release(
    *,
    version: str,
    note: str,
    by: str,
    at: datetime,
    eval_figures: dict[str, Any] | None = None,
    lost_because: str = "",
    replaces: str | None = None,
    audited: Mapping[str, list[Any]] | None = None,
) -> Activation:
    """Make a release live. This process serves it immediately, all others within two seconds.

    No reason is needed if eval cases are lost: a rollback must not wait. `replaces` is the release that must be live
    until now. `audited` is {field: [before, after]} for the audit log.

    Raises UnknownRelease, AlreadyWithdrawn, AlreadyLive, LiveChanged.
    """
    with transaction.atomic():
        release = _lock_release(version)
        if release.withdrawn_at is not None:
            raise AlreadyWithdrawn(
                f"Release {release} was withdrawn by {release.withdrawn_by}: {release.withdrawn_reason}"
            )
        was_live = stored_releases.lock_live_version()
        if was_live == version:
            raise AlreadyLive(version)
        if replaces is not None and was_live != replaces:
            raise LiveChanged
        action = AuditEntry.Action.MADE_LIVE if release.activations.exists() else AuditEntry.Action.PUBLISHED
        # If two users publish at the same time, the constraint of one live row makes one of them fail.
        Activation.objects.filter(is_live=True).update(is_live=False)
        activation = Activation(release_id=version, note=note, activated_at=at, activated_by=by, is_live=True)
        activation.eval_figures, activation.lost_because = eval_figures or {}, lost_because
        try:
            with transaction.atomic():
                activation.save()
        except IntegrityError:
            raise LiveChanged from None
        changes = {"live": [was_live or None, version], **(audited or {})}
        audit_log.record_action("release", version, action, by=by, at=at, note=note, changes=changes)
        transaction.on_commit(cache.refresh_live)
    return activation


def withdraw_release(*, version: str, reason: str, by: str, at: datetime) -> Release:
    """Withdraw a release permanently: it is no longer served and cannot be made live again.

    All processes stop serving it within two seconds (cache.get_catalog raises WithdrawnRelease).

    Raises UnknownRelease, ReleaseStillLive, AlreadyWithdrawn, and ValidationError if the reason is missing or too long.
    """
    reason = " ".join(reason.split())
    if problem := notes.find_note_problem(reason, "why nobody should read this release"):
        raise ValidationError({"withdrawn_reason": problem})
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
    """Give a release a name and labels. They are not part of its content."""
    before = {"name": release.name, "labels": release.labels}
    release.name, release.labels = name.strip(), list(labels)
    release.save(update_fields=["name", "labels"])
    after = {"name": release.name, "labels": release.labels}
    audit_log.record_change("release", release.version, before, after, by=by, at=at)


def _lock_release(version: str) -> Release:
    release = Release.objects.select_for_update().defer("content", "tokens").filter(version=version).first()
    if release is None:
        raise UnknownRelease(f"No release has the version {version[:64]}.")
    return release
