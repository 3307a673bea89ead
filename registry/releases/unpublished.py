"""Find the unpublished entries of the draft, and keep the help tokens of each op in its row.

Only entries touched since the whole draft was frozen are compared with the live release, by hash. The hashes of a
release are computed once in each process. This relies on all code that writes copy setting `updated_at` or recording
history.

Every change clears the counts (see registry.drafts.history). `count_batch` counts the cleared ops: when a user opens a
list, and from time to time for the rest, such as after an import.
"""

import logging
import threading
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db import transaction
from django.db.models import Max

from audit.models import AuditEntry
from core import logs
from core.text import json_text
from registry import checks
from registry.drafts import draft
from registry.help import token_counts
from registry.models import Op, Release
from registry.releases import stored_releases
from registry.snapshot import diff, snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind

NamesByKind = dict[Kind, frozenset[str]]
UpdateTimes = dict[Kind, dict[str, datetime]]  # name -> last change
ROWS_PER_BATCH = 100  # rows
NEVER = datetime(1, 1, 1, tzinfo=UTC)
CLOCK_SLACK = timedelta(minutes=5)  # for edits made while the release was frozen, and for clock differences
_cached: tuple[tuple[Any, ...], NamesByKind] | None = None
# First requests come at the same time: each would compare, and all would take as long as their sum.
_comparing = threading.Lock()
log = logging.getLogger(__name__)
BATCH_SIZE = 200  # ops, about 0.1 s


def find_unpublished_names() -> NamesByKind:
    """Return the names of all entries that publishing would add, change or remove, by kind."""
    global _cached
    rows = {kind: dict(_iterate_update_times(kind)) for kind in COPY_KINDS}
    version, frozen = stored_releases.load_freeze_times()
    if not version:
        return {kind: frozenset(update_times) for kind, update_times in rows.items()}
    since = frozen.whole - CLOCK_SLACK if frozen.whole else NEVER
    history = AuditEntry.objects.filter(kind__in=COPY_KINDS, time__gt=since).values_list("kind", "name")
    last_changes = {(kind, name): last for kind, name, last in history.annotate(last=Max("id"))}
    touched = {
        kind: {name for name, at in update_times.items() if at > since or (kind, name) in last_changes}
        for kind, update_times in rows.items()
    }
    last_update = max((at for update_times in rows.values() for at in update_times.values()), default=since)
    cache_key = (version, last_update, max(last_changes.values(), default=0), *map(len, rows.values()))
    with _comparing:
        if _cached is None or _cached[0] != cache_key:
            _cached = (cache_key, _find_differing(version, rows, touched))
        return _cached[1]


def count_lacking_entries(version: str) -> dict[Kind, int]:
    """Return how many entries a release changes that the draft has otherwise: the next publish would take them back."""
    live_version = stored_releases.get_live_version()
    if not live_version or version == live_version:
        return {}
    unpublished, counts = find_unpublished_names(), dict[Kind, int]()
    for kind in COPY_KINDS:
        live, release = (hash_release_entries(each)[kind] for each in (live_version, version))
        changed = {name for name in live.keys() | release.keys() if live.get(name) != release.get(name)}
        draft_hashes = dict(hash_draft_entries(kind, changed & unpublished[kind]))
        same = {name for name in changed & unpublished[kind] if draft_hashes.get(name) == release.get(name)}
        counts[kind] = len(changed - same)
    return {kind: count for kind, count in counts.items() if count}


def _iterate_update_times(kind: Kind) -> Iterator[tuple[str, datetime]]:
    copy_kind = COPY_KINDS[kind]
    for fields in copy_kind.model._default_manager.values(*copy_kind.name_fields, "updated_at"):
        yield copy_kind.get_name(fields), fields["updated_at"]


def _find_differing(version: str, rows: UpdateTimes, touched: dict[Kind, set[str]]) -> NamesByKind:
    names_by_kind = {}
    for kind in COPY_KINDS:
        live = hash_release_entries(version)[kind]
        changed = {name for name, digest in hash_draft_entries(kind, touched[kind]) if live.get(name) != digest}
        names_by_kind[kind] = frozenset(changed | (live.keys() ^ rows[kind].keys()))
    return names_by_kind


def hash_draft_entries(kind: Kind, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield (name, hash of its entry in the draft), reading rows in batches. Empty if no release could store it."""
    sorted_names = sorted(names)
    for start in range(0, len(sorted_names), ROWS_PER_BATCH):
        for name, row in draft.get_rows(kind, sorted_names[start : start + ROWS_PER_BATCH]).items():
            yield name, json_text.try_digest(snapshot.row_to_entry(row))


@lru_cache(maxsize=4)  # the live one, and arms of experiments; the hashes of 10,000 ops take about 2 MB
def hash_release_entries(version: str) -> dict[Kind, dict[str, str]]:
    """Return the hash of each entry of a release."""
    content = stored_releases.load_content(Release.objects.get(version=version))
    return {
        kind: {name: json_text.hash_canonically(entry) for name, entry in diff.index_entries(content, kind).items()}
        for kind in COPY_KINDS
    }


def count_tokens(_at: datetime) -> bool:
    """Count the help tokens of ops that were edited, a batch at a time. Returns whether more are left."""
    return count_batch()


def count_batch() -> bool:
    """Count a batch of cleared ops. Returns whether more are left."""
    if not Op.objects.filter(is_counted=False).exists():
        return False
    with transaction.atomic():
        # Locked until they are written: an edit in the meantime waits, and then clears the count again.
        locked = Op.objects.select_for_update(skip_locked=True, of=("self",)).filter(is_counted=False).order_by("pk")
        ops = list(locked.select_related("connection").prefetch_related("rules", "examples", "aliases")[:BATCH_SIZE])
        changed_names = find_unpublished_names()[Kind.OP]
        live = Release.objects.filter(activations__is_live=True).values_list("tokens", flat=True).first() or {}
        for op in ops:
            short, full = _count_op_or_log(op) if op.op in changed_names else live.get(op.op, (None, None))
            # bulk_update takes three times as long.
            Op.objects.filter(pk=op.pk).update(is_counted=True, short_tokens=short, full_tokens=full)
    return len(ops) == BATCH_SIZE


def _count_op_or_log(op: Op) -> tuple[int | None, int | None]:
    """Count an op. One that fails has no counts and does not stop the job for the others."""
    try:
        return _count_op(op)
    except Exception as error:
        log.error("op.not_counted op=%s\n%s", op.op, logs.format_safely(error))
        return None, None


def _count_op(op: Op) -> tuple[int | None, int | None]:
    """Return the tokens of an op's short and full help; None if it has no help or would break serving."""
    entry = snapshot.op_to_entry(op)
    if checks.find_op_errors(entry):
        return None, None
    # Canonical JSON, because a release is served with its keys in that order.
    counts = token_counts.count_entry_tokens(json_text.load(json_text.canonicalize(entry)))
    short, full = counts.get(op.op, (None, None))
    return short, full
