"""Publishing: freeze the draft into a release and move the one live pointer."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from core import canonical
from registry import budget, catalogs, checks, help, snapshot
from registry.models import Activation, Release


class NotPublishable(Exception):
    """The draft would break serving. `problems` says where and what to do."""

    def __init__(self, problems: Sequence[checks.Problem]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems[:5]))
        self.problems = list(problems)


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


def publish(*, note: str, by: str, at: datetime) -> Release:
    """Freeze the draft and make it live. The same content gives the same release.

    Raises NotPublishable where the draft would break serving, AlreadyLive where it is live already.
    """
    release = freeze(by=by, at=at)
    activate(version=release.version, note=note, by=by, at=at)
    return release


def freeze(*, by: str, at: datetime) -> Release:
    """Freeze the draft into an immutable release, without making it live. Raises NotPublishable."""
    content = snapshot.draft()
    if problems := checks.problems(content):
        raise NotPublishable(problems)
    frozen = canonical.dumps(content).decode()
    version = canonical.digest(content)
    release, _ = Release.objects.get_or_create(
        version=version,
        defaults={
            "content": frozen,
            # Counted over what will be served, whose keys have the order of the frozen text.
            "tokens": token_counts(catalogs.build(version, json.loads(frozen))),
            "op_count": len(content["ops"]),
            "created_at": at,
            "created_by": by,
        },
    )
    return release


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


def token_counts(catalog: catalogs.Catalog) -> dict[str, list[int]]:
    """Return {op: [tokens of its short help, tokens of its full help]}, counted over the body as sent.

    A retired op has no help.
    """
    active = [path for path, op in catalog.ops.items() if op.is_active]
    return {path: [_count(catalog, path, form) for form in ("short", "full")] for path in active}


def _count(catalog: catalogs.Catalog, path: str, form: Any) -> int:
    return budget.size_of(help.answer(catalog, help.HelpQuery(path=path, format=form)).body)
