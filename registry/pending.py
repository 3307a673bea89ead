"""Find the unpublished entries of the draft with a few small queries, however many ops there are.

Only entries touched since the live release was frozen are compared with it, by hash. The hashes of a release are
computed once in each process. This relies on all code that writes copy setting `updated_at` or recording history.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db.models import Max

from analytics.models import AuditEntry
from core import canonical
from registry import changes, draft, releases
from registry.changes import KINDS, Kind
from registry.models import Activation, Group, Op, PromptSection, Release

Names = dict[Kind, frozenset[str]]
Rows = dict[Kind, dict[str, datetime]]  # name -> last change

AT_ONCE = 100  # rows
SLACK = timedelta(minutes=5)  # for edits made while the release was frozen, and for clock differences


def names() -> Names:
    """Return the names of all groups, ops and prompt sections that publishing would add, change or remove."""
    global _kept
    rows = {kind: dict(_rows(kind)) for kind in KINDS}
    live = Activation.objects.filter(is_live=True).values_list("release_id", "release__created_at").first()
    if live is None:
        return {kind: frozenset(found) for kind, found in rows.items()}
    version, since = live[0], live[1] - SLACK
    history = AuditEntry.objects.filter(kind__in=KINDS, time__gt=since).values_list("kind", "name")
    told = {(kind, name): last for kind, name, last in history.annotate(last=Max("id"))}
    touched = {
        kind: {name for name, at in found.items() if at > since or (kind, name) in told} for kind, found in rows.items()
    }
    moment = max((at for found in rows.values() for at in found.values()), default=since)
    stamp = (version, moment, max(told.values(), default=0), *map(len, rows.values()))
    if _kept is None or _kept[0] != stamp:
        _kept = (stamp, _differing(version, rows, touched))
    return _kept[1]


_kept: tuple[tuple[Any, ...], Names] | None = None


def _rows(kind: Kind) -> Iterator[tuple[str, datetime]]:
    if kind == Kind.GROUP:
        yield from Group.objects.values_list("path", "updated_at")
    elif kind == Kind.OP:
        yield from Op.objects.values_list("op", "updated_at")
    else:
        for prompt, name, at in PromptSection.objects.values_list("prompt", "name", "updated_at"):
            yield f"{prompt}/{name}", at


def _differing(version: str, rows: Rows, touched: dict[Kind, set[str]]) -> Names:
    found = {}
    for kind in KINDS:
        live = _digests(version)[kind]
        moved = {name for name, digest in _drafted(kind, touched[kind]) if live.get(name) != digest}
        found[kind] = frozenset(moved | (live.keys() ^ rows[kind].keys()))
    return found


def _drafted(kind: Kind, names: set[str]) -> Iterator[tuple[str, str]]:
    """Yield (name, hash of its entry in the draft), reading rows in batches to limit memory."""
    wanted = sorted(names)
    for start in range(0, len(wanted), AT_ONCE):
        for name, row in draft.rows(kind, wanted[start : start + AT_ONCE]).items():
            yield name, _digest(draft.entry_of(row))


def _digest(entry: dict[str, Any]) -> str:
    """Return the hash of a draft entry; an empty string if no release could store the entry."""
    try:
        return canonical.digest(entry)
    except ValueError:
        return ""


@lru_cache(maxsize=2)  # releases never change; the hashes of 10,000 ops take about 2 MB
def _digests(version: str) -> dict[Kind, dict[str, str]]:
    """Return the hash of each entry of a release."""
    content = releases.content(Release.objects.get(version=version))
    return {
        kind: {name: canonical.digest(entry) for name, entry in changes.entries(content, kind).items()}
        for kind in KINDS
    }
