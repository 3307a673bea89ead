"""Publishing: freeze the draft into a release and move the one live pointer."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from core import canonical
from registry import catalogs, checks, sizes, snapshot
from registry.models import Activation, Release


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
    """No release has this version."""


def live() -> Release | None:
    """Return the release of everyone who is not pinned elsewhere, if anything was published yet."""
    activation = Activation.objects.filter(is_live=True).select_related("release").first()
    return activation.release if activation else None


def draft_version() -> str:
    """Return the version that publishing the draft as it stands would give."""
    return canonical.digest(snapshot.draft())


def publish(*, note: str, by: str, at: datetime, accepted: str = "") -> Release:
    """Freeze the draft and make it live. The same content gives the same release.

    Raises what `freeze` raises, and AlreadyLive where it is live already.
    """
    release = freeze(by=by, at=at, accepted=accepted)
    activate(version=release.version, note=note, by=by, at=at)
    return release


def freeze(*, by: str, at: datetime, accepted: str = "") -> Release:
    """Freeze the draft into an immutable release, without making it live.

    `accepted` is the reason why warnings that the live release has not are taken; it is kept with them. A release that
    is there already was accepted when it was made. Raises NotPublishable, and NeedsReason where there is none.
    """
    content = snapshot.draft()
    if problems := checks.problems(content):
        raise NotPublishable(problems)
    version = canonical.digest(content)
    if release := Release.objects.filter(version=version).first():
        return release
    frozen = canonical.dumps(content).decode()
    # Counted over what will be served, whose keys have the order of the frozen text.
    counts = sizes.token_counts(catalogs.build(version, json.loads(frozen)))
    warnings = _new_warnings(content, counts)
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


def _new_warnings(content: dict[str, Any], counts: checks.Counts) -> list[checks.Finding]:
    """Return the warnings of a snapshot that the content of the live release has not."""
    imported = checks.imported()
    found = checks.warnings(content, counts, imported=imported)
    now = live() if found else None
    if now is None:
        return found
    # What the live content says of the ops that warn now: the others cannot make anything known.
    only = {warning.op for warning in found}
    return checks.new(found, checks.warnings(json.loads(now.content), now.tokens, imported=imported, only=only))


def activate(*, version: str, note: str, by: str, at: datetime) -> Activation:
    """Make a release live and log it. This process follows at once, all others within two seconds.

    Raises UnknownRelease, and AlreadyLive where the release is live.
    """
    with transaction.atomic():
        if not Release.objects.filter(version=version).exists():
            raise UnknownRelease(version)
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
