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

SHORTEST = 6  # characters that may stand for a version
LARGE = ("release__content", "release__tokens", "release__accepted_warnings")  # columns of megabytes, to be deferred


class NotPublishable(Exception):
    """The draft would break serving. `problems` says where and what to do."""

    def __init__(self, problems: Sequence[checks.Finding]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:5]))
        self.problems = list(problems)


class NeedsReason(Exception):
    """The draft has warnings that the live release has not, and nobody said why. `warnings` has them all."""

    def __init__(self, warnings: Sequence[checks.Finding]) -> None:
        super().__init__("; ".join(str(warning) for warning in warnings[:5]))
        self.warnings = list(warnings)


class AlreadyLive(Exception):
    """The release is live as it is; nothing was changed."""


class UnknownRelease(Exception):
    """No release, or more than one, has this version."""


class Withdrawn(Exception):
    """The release was withdrawn: it is never made live or served again. The text says why it was."""


class IsLive(Exception):
    """The release is live, and can only be withdrawn once another one is."""


def live() -> Release | None:
    """Return the release of everyone who is not pinned elsewhere, if anything was published yet."""
    activation = Activation.objects.filter(is_live=True).select_related("release").first()
    return activation.release if activation else None


def draft_version() -> str:
    """Return the version that publishing the draft as it stands would give."""
    return canonical.digest(snapshot.draft())


def publish(*, note: str, by: str, at: datetime, accepted: str = "", seen: str = "") -> Release:
    """Freeze the draft and make it live. The same content gives the same release.

    Raises what `freeze` raises, AlreadyLive where it is live already, Withdrawn where it is what a withdrawn release
    was.
    """
    release = freeze(by=by, at=at, accepted=accepted, seen=seen)
    activate(version=release.version, note=note, by=by, at=at)
    return release


def freeze(*, by: str, at: datetime, accepted: str = "", seen: str = "") -> Release:
    """Freeze the draft into an immutable release, without making it live.

    `accepted` is the reason why warnings that the live release has not are taken; it is kept with them. A release that
    is there already was accepted when it was made. `seen` is the version that the draft had when somebody agreed to it.
    Raises NotPublishable, NeedsReason where there is none, draft.Moved.
    """
    with garbage.uncollected():
        return _frozen(by=by, at=at, accepted=accepted, seen=seen)


def _frozen(*, by: str, at: datetime, accepted: str, seen: str) -> Release:
    content = snapshot.draft()
    try:
        form = canonical.dumps(content)
    except ValueError:  # which the problems tell of, op by op
        raise NotPublishable(checks.problems(content)) from None
    frozen = form.decode()
    if problems := checks.problems(content, frozen=frozen):
        raise NotPublishable(problems)
    version = canonical.hashed(form)
    if seen and seen != version:
        raise draft.Moved("The draft was edited in the meantime. Look at what is different now.")
    if release := Release.objects.filter(version=version).first():
        return release
    # Counted over what will be served, whose keys have the order of the frozen text.
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
    """Return the warnings of a snapshot that the content of the live release has not."""
    imported = checks.imported()
    now = live()
    if now is None:
        return checks.warnings(content, counts, imported=imported)
    before = json.loads(now.content)
    found = checks.warnings(content, counts, imported=imported, only=_to_check(before, content))
    if not found:
        return []
    # What the live content says of the ops that warn now: the others cannot make anything known.
    only = {warning.op for warning in found}
    return checks.new(found, checks.warnings(before, now.tokens, imported=imported, only=only))


def _to_check(before: dict[str, Any], after: dict[str, Any]) -> set[str] | None:
    """Return the names of what may warn otherwise than before: what changed; None for all.

    A text that did not change reads otherwise only where an op that it names has gone. Two summaries that became
    alike are told of at the one that changed.
    """
    found = set[str]()
    for kind in changes.KINDS:
        one, other = changes.entries(before, kind), changes.entries(after, kind)
        if kind == Kind.OP and (_named(one) - _named(other)):
            return None
        found |= {name for name, entry in other.items() if one.get(name) != entry}
    return found


def _named(ops: changes.Entries) -> set[str]:
    """Return all names of ops that run."""
    running = (op for op in ops.values() if snapshot.value(op, "status") == Op.Status.ACTIVE)
    return {name for op in running for name in checks.names_of(op)}


def activate(*, version: str, note: str, by: str, at: datetime) -> Activation:
    """Make a release live and log it. This process follows at once, all others within two seconds.

    Raises UnknownRelease, Withdrawn, and AlreadyLive where the release is live.
    """
    with transaction.atomic():
        release = _locked(version)
        if release.withdrawn_at is not None:
            raise Withdrawn(f"Release {release} was withdrawn by {release.withdrawn_by}: {release.withdrawn_reason}")
        for current in Activation.objects.select_for_update().filter(is_live=True):
            if current.release_id == version:
                raise AlreadyLive(version)
        # The constraint of one live row makes two publishers at once a conflict, never two live releases.
        Activation.objects.filter(is_live=True).update(is_live=False)
        activation = Activation.objects.create(
            release_id=version, note=note, activated_at=at, activated_by=by, is_live=True
        )
        transaction.on_commit(catalogs.follow)
    return activation


def withdraw(*, version: str, reason: str, by: str, at: datetime) -> Release:
    """Take a release out of use for good: nobody is served it, and it cannot be made live again.

    All processes follow within two seconds (catalogs.get raises WithdrawnRelease).

    Raises UnknownRelease, IsLive where it is live, Withdrawn where it was withdrawn before, ValidationError with a
    sentence where the reason cannot be one.
    """
    reason = " ".join(reason.split())
    if not reason:
        raise ValidationError({"withdrawn_reason": "Say why it is withdrawn: whoever misses it reads this."})
    with transaction.atomic():
        release = _locked(version)
        if release.withdrawn_at is not None:
            raise Withdrawn(f"Release {release} was withdrawn by {release.withdrawn_by}: {release.withdrawn_reason}")
        if release.activations.filter(is_live=True).exists():
            raise IsLive(f"Release {release} is live. Make another one live first, then withdraw it.")
        release.withdrawn_at, release.withdrawn_by, release.withdrawn_reason = at, by, reason
        release.clean_fields(exclude=["content", "tokens"])
        release.save(update_fields=["withdrawn_at", "withdrawn_by", "withdrawn_reason"])
        withdrawn = Change(Kind.RELEASE, version, Action.CHANGED, {"withdrawn": (False, True)})
        history.record([withdrawn], by=by, at=at, note=reason)
        transaction.on_commit(catalogs.follow_withdrawn)
    return release


def find(version: str) -> Release:
    """Return a release by its version or the beginning of it. Raises UnknownRelease."""
    if len(version) < SHORTEST:
        raise UnknownRelease(f"Give {SHORTEST} or more characters of a version.")
    found = list(Release.objects.filter(version__startswith=version).defer("content", "tokens")[:2])
    if not found:
        raise UnknownRelease(f"No release has the version {version[:64]}.")
    if len(found) > 1:
        raise UnknownRelease(f"More than one release begins with {version[:64]}. Give more of its version.")
    return found[0]


def before_live() -> Release:
    """Return what was live before what is live now, withdrawn releases aside. Raises UnknownRelease."""
    now = Activation.objects.filter(is_live=True).values_list("release_id", flat=True).first()
    earlier = Activation.objects.filter(is_live=False, release__withdrawn_at=None).select_related("release")
    activation = earlier.exclude(release=now).defer(*LARGE).order_by("-activated_at", "-id").first()
    if activation is None:
        raise UnknownRelease("No other release was live before, or it was withdrawn.")
    return activation.release


def content(release: Release) -> dict[str, Any]:
    """Return a release's content as a snapshot (see registry.snapshot)."""
    found: dict[str, Any] = orjson.loads(release.content)  # canonical, so that its numbers are nobody's but these
    return found


def tokens_of(content: dict[str, Any]) -> dict[str, list[int]]:
    """Return the tokens of a snapshot's help, as `sizes.token_counts` does; of what would break serving none."""
    served = {**content, "ops": [op for op in content["ops"] if not checks.op_problems(op)]}
    return sizes.token_counts(catalogs.build("", json.loads(canonical.dumps(served))))


def _locked(version: str) -> Release:
    release = Release.objects.select_for_update().defer("content", "tokens").filter(version=version).first()
    if release is None:
        raise UnknownRelease(f"No release has the version {version[:64]}.")
    return release
