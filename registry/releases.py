"""Publishing: freeze the draft into a release and move the one live pointer."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.db import transaction

from core import canonical, garbage
from registry import catalogs, changes, checks, draft, history, sizes, snapshot
from registry.changes import Action, Change, Kind
from registry.models import Activation, Op, Release

SHORTEST = 6  # characters of a version needed to find a release
LARGE = ("release__content", "release__tokens", "release__accepted_warnings")  # large columns, to be deferred


class NotPublishable(Exception):
    """The draft would break serving. `problems` lists what to fix."""

    def __init__(self, problems: Sequence[checks.Finding]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:5]))
        self.problems = list(problems)


class NeedsReason(Exception):
    """The draft has warnings that the live release does not, and no reason was given. `warnings` lists them."""

    def __init__(self, warnings: Sequence[checks.Finding]) -> None:
        super().__init__("; ".join(str(warning) for warning in warnings[:5]))
        self.warnings = list(warnings)


class AlreadyLive(Exception):
    """The release is live already; nothing was changed."""


class UnknownRelease(Exception):
    """No release matches this version, or more than one does."""


class Withdrawn(Exception):
    """The release was withdrawn, so it can never be live or served again. The message has the reason."""


class IsLive(Exception):
    """The release is live. Another one must be made live before it can be withdrawn."""


def live() -> Release | None:
    """Return the live release, or None if nothing has been published yet."""
    activation = Activation.objects.filter(is_live=True).select_related("release").first()
    return activation.release if activation else None


def draft_version() -> str:
    """Return the version that publishing the current draft would create."""
    return canonical.digest(snapshot.draft())


def publish(*, note: str, by: str, at: datetime, accepted: str = "", seen: str = "") -> Release:
    """Freeze the draft and make it live. The same content gives the same release.

    Raises what `freeze` raises, AlreadyLive, and Withdrawn if the draft equals a withdrawn release.
    """
    release = freeze(by=by, at=at, accepted=accepted, seen=seen)
    activate(version=release.version, note=note, by=by, at=at)
    return release


def freeze(*, by: str, at: datetime, accepted: str = "", seen: str = "") -> Release:
    """Freeze the draft into an immutable release, without making it live.

    `accepted` is the reason for accepting warnings that the live release does not have; it is stored with them. It is
    not needed if the release exists already. `seen` is the version of the draft that the user reviewed.
    Raises NotPublishable, NeedsReason if a reason is missing, and draft.Moved.
    """
    with garbage.uncollected():
        return _frozen(by=by, at=at, accepted=accepted, seen=seen)


def _frozen(*, by: str, at: datetime, accepted: str, seen: str) -> Release:
    content = snapshot.draft()
    try:
        form = canonical.dumps(content)
    except ValueError:  # the problems report it for each op
        raise NotPublishable(checks.problems(content)) from None
    frozen = form.decode()
    if problems := checks.problems(content, frozen=frozen):
        raise NotPublishable(problems)
    version = canonical.hashed(form)
    if seen and seen != version:
        raise draft.Moved("The draft has changed since you reviewed it. Review the changes again.")
    if release := Release.objects.filter(version=version).first():
        return release
    # Counted on what will be served: its keys have the order of the frozen text.
    counts = sizes.token_counts(catalogs.build(version, json.loads(frozen)))
    warnings = new_warnings(content, counts)
    if warnings and not accepted.strip():
        raise NeedsReason(warnings)
    release, _ = Release.objects.get_or_create(
        version=version,
        defaults={
            "content": frozen,
            "tokens": counts,
            "op_count": len(content["ops"]),
            "accepted_warnings": [warning.as_dict() for warning in warnings],
            "accepted_because": accepted.strip() if warnings else "",
            "created_at": at,
            "created_by": by,
        },
    )
    return release


def new_warnings(content: dict[str, Any], counts: checks.Counts) -> list[checks.Finding]:
    """Return the warnings of a snapshot that the live release does not have."""
    imported = checks.imported()
    now = live()
    if now is None:
        return checks.warnings(content, counts, imported=imported)
    before = json.loads(now.content)
    found = checks.warnings(content, counts, imported=imported, only=_to_check(before, content))
    if not found:
        return []
    # Check only those live ops that have warnings now: others cannot match one.
    only = {warning.op for warning in found}
    return checks.new(found, checks.warnings(before, now.tokens, imported=imported, only=only))


def _to_check(before: dict[str, Any], after: dict[str, Any]) -> set[str] | None:
    """Return the names of the entries whose warnings may differ from before; None means all.

    These are the changed entries. Unchanged text can only get a new warning if an op that it names is gone, so then all
    entries are checked. Two summaries that became similar are reported at the one that changed.
    """
    found = set[str]()
    for kind in changes.KINDS:
        one, other = changes.entries(before, kind), changes.entries(after, kind)
        if kind == Kind.OP and (_named(one) - _named(other)):
            return None
        found |= {name for name, entry in other.items() if one.get(name) != entry}
    return found


def _named(ops: changes.Entries) -> set[str]:
    """Return all names of the active ops."""
    running = (op for op in ops.values() if snapshot.value(op, "status") == Op.Status.ACTIVE)
    return {name for op in running for name in checks.names_of(op)}


def activate(*, version: str, note: str, by: str, at: datetime) -> Activation:
    """Make a release live. This process serves it at once, all others within two seconds.

    Raises UnknownRelease, Withdrawn, AlreadyLive.
    """
    with transaction.atomic():
        release = _locked(version)
        if release.withdrawn_at is not None:
            raise Withdrawn(f"Release {release} was withdrawn by {release.withdrawn_by}: {release.withdrawn_reason}")
        for current in Activation.objects.select_for_update().filter(is_live=True):
            if current.release_id == version:
                raise AlreadyLive(version)
        # If two users publish at once, the constraint of one live row makes one of them fail.
        Activation.objects.filter(is_live=True).update(is_live=False)
        activation = Activation.objects.create(
            release_id=version, note=note, activated_at=at, activated_by=by, is_live=True
        )
        transaction.on_commit(catalogs.follow)
    return activation


def withdraw(*, version: str, reason: str, by: str, at: datetime) -> Release:
    """Withdraw a release permanently: it is no longer served and cannot be made live again.

    All processes stop serving it within two seconds (catalogs.get raises WithdrawnRelease).

    Raises UnknownRelease, IsLive, Withdrawn, and ValidationError if the reason is missing or too long.
    """
    reason = " ".join(reason.split())
    if not reason:
        raise ValidationError({"withdrawn_reason": "Give a reason. It is shown to anyone who asks for this release."})
    with transaction.atomic():
        release = _locked(version)
        if release.withdrawn_at is not None:
            raise Withdrawn(f"Release {release} was withdrawn by {release.withdrawn_by}: {release.withdrawn_reason}")
        if release.activations.filter(is_live=True).exists():
            raise IsLive(f"Release {release} is live. Make another release live first.")
        release.withdrawn_at, release.withdrawn_by, release.withdrawn_reason = at, by, reason
        release.clean_fields(exclude=["content", "tokens"])
        release.save(update_fields=["withdrawn_at", "withdrawn_by", "withdrawn_reason"])
        withdrawn = Change(Kind.RELEASE, version, Action.CHANGED, {"withdrawn": (False, True)})
        history.record([withdrawn], by=by, at=at, note=reason)
        transaction.on_commit(catalogs.follow_withdrawn)
    return release


def find(version: str) -> Release:
    """Return the release whose version starts with `version`. Raises UnknownRelease."""
    if len(version) < SHORTEST:
        raise UnknownRelease(f"Give at least {SHORTEST} characters of the version.")
    found = list(Release.objects.filter(version__startswith=version).defer("content", "tokens")[:2])
    if not found:
        raise UnknownRelease(f"No release has the version {version[:64]}.")
    if len(found) > 1:
        raise UnknownRelease(f"More than one release starts with {version[:64]}. Give more characters.")
    return found[0]


def before_live() -> Release:
    """Return the release that was live before the current one, skipping withdrawn ones. Raises UnknownRelease."""
    now = Activation.objects.filter(is_live=True).values_list("release_id", flat=True).first()
    earlier = Activation.objects.filter(is_live=False, release__withdrawn_at=None).select_related("release")
    activation = earlier.exclude(release=now).defer(*LARGE).order_by("-activated_at", "-id").first()
    if activation is None:
        raise UnknownRelease("There is no earlier live release, or all were withdrawn.")
    return activation.release


def content(release: Release) -> dict[str, Any]:
    """Return a release's content as a snapshot (see registry.snapshot)."""
    found: dict[str, Any] = orjson.loads(release.content)  # canonical JSON, so orjson reads its numbers exactly
    return found


def tokens_of(content: dict[str, Any]) -> dict[str, list[int]]:
    """Return the token counts of a snapshot's help (see `sizes.token_counts`), skipping ops that cannot be served."""
    served = {**content, "ops": [op for op in content["ops"] if not checks.op_problems(op)]}
    return sizes.token_counts(catalogs.build("", json.loads(canonical.dumps(served))))


def _locked(version: str) -> Release:
    release = Release.objects.select_for_update().defer("content", "tokens").filter(version=version).first()
    if release is None:
        raise UnknownRelease(f"No release has the version {version[:64]}.")
    return release
