"""Which catalogs this process holds in memory: the live one and those used recently.

All code that serves a model reads `get_live_catalog()` or `get_catalog(version)`. A new release is loaded first and one
reference is swapped afterwards. So every answer comes from a single release, and a cached answer costs no query.
"""

import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from threading import Lock

from django.conf import settings
from prometheus_client import Gauge

from core import memory
from core.background.poller import PolledQuery
from registry.catalog import builder
from registry.catalog.model import Catalog
from registry.models import Activation, Release

log = logging.getLogger(__name__)
RELEASE_LIVE = Gauge(
    "gateway_release_live", "1 if every process has a live release, else 0.", multiprocess_mode="livemin"
)
RELEASE_LOADED = Gauge(
    "gateway_release_loaded_timestamp_seconds",
    "When the last process loaded the live release.",
    multiprocess_mode="livemax",
)


class NoLiveRelease(Exception):
    """No release has been published yet, or the live one could not be loaded."""


class CorruptRelease(Exception):
    """The hash of a release's content differs from its version."""


class WithdrawnRelease(Exception):
    """The release was withdrawn. It is no longer served, not even to clients pinned to it."""


_live: Catalog | None = None
_loaded: OrderedDict[str, Catalog] = OrderedDict()
_withdrawn: set[str] = set()  # known to this process. Withdrawing is permanent, so the database is asked only once
_lock = Lock()
_live_version: str | None = None  # by the database, as it was last read; _live follows it
_has_new_releases = False  # whether a release was loaded since withdrawn ones were looked for
_reading_version, _loading_live = Lock(), Lock()
_live_version_query = PolledQuery(lambda: Activation.objects.filter(is_live=True).values_list("release_id")[:1])
_warmers: tuple[Callable[[Catalog], object], ...] = ()


def set_warmers(warmers: Sequence[Callable[[Catalog], object]]) -> None:
    """Set the functions that prepare a catalog before it is served, so that no request waits for them."""
    global _warmers
    _warmers = tuple(warmers)


def update_metrics() -> None:
    """Update whether this process has a live release, and when it loaded it. The poller calls this."""
    global _measured_version
    version = get_live_version()
    RELEASE_LIVE.set(version is not None)
    if version != _measured_version:
        _measured_version = version
        RELEASE_LOADED.set(time.time())


_measured_version: str | None = None


def get_live_catalog() -> Catalog:
    """Return the catalog of the live release. Raises NoLiveRelease if there is none or it cannot be loaded."""
    if _live is None:
        try:
            refresh_live()
        except CorruptRelease as error:
            raise NoLiveRelease(str(error)) from error
    if _live is None:
        raise NoLiveRelease("No release is live. Publish one: manage.py load_catalog --publish.")
    return _live


def get_live_version() -> str | None:
    """Return the live version that this process has in memory, or None if it has none yet."""
    return _live.version if _live is not None else None


def get_catalog(version: str) -> Catalog:
    """Return the catalog of a release, from memory if it was used recently.

    Raises Release.DoesNotExist, WithdrawnRelease, or CorruptRelease if the stored content is not what was published.
    """
    global _has_new_releases
    with _lock:
        if version in _loaded:
            _loaded.move_to_end(version)
            return _loaded[version]
    catalog = _load_release(version)
    with _lock:
        _loaded[version] = catalog
        _has_new_releases = True
        while len(_loaded) > settings.GATEWAY_RELEASES_KEPT:
            # Never evict the live version: it stays in memory anyway, and a turn pinned to it would reload it.
            del _loaded[next(each for each in _loaded if each != get_live_version())]
    return catalog


def refresh_live() -> None:
    """Load the live release if it has changed. Takes one query if nothing changed."""
    read_live_version()
    load_live()


def read_live_version() -> None:
    """Read from the database which release is live. Takes one query."""
    global _live_version
    with _reading_version:
        rows = _live_version_query.fetch_rows()
        _live_version = rows[0][0] if rows else None


def load_live() -> None:
    """Load the release that is live by the last look at the database, and serve it once it is warmed up.

    Takes no query if it is loaded already.
    """
    global _live
    with _loading_live:
        version = _live_version
        if version is None:
            _live = None
        elif _live is None or _live.version != version:
            _live = _warm_up(get_catalog(version))
            memory.return_freed_memory()
            log.info("release.live version=%s", version[:12])


def preload_release(version: str) -> None:
    """Load a release into memory before it is requested. Does nothing if the release cannot be served."""
    if is_loaded(version) or version in _withdrawn:
        return
    try:
        _warm_up(get_catalog(version))
    except (Release.DoesNotExist, CorruptRelease, WithdrawnRelease) as error:
        log.debug("release.not_preloaded version=%s error=%s", version[:12], error)


def is_loaded(version: str) -> bool:
    """Return whether a release is in memory and so can be served. Withdrawn ones are dropped within half a second."""
    with _lock:
        return version in _loaded


def list_loaded() -> list[Catalog]:
    """Return the catalogs in memory."""
    with _lock:
        return list(_loaded.values())


def get_newest() -> Catalog | None:
    """Return the catalog that was used last; None if none is in memory."""
    with _lock:
        return next(reversed(_loaded.values()), None)


def is_servable(version: str) -> bool:
    """Return whether a release can be served. Takes one query if it is neither in memory nor known to be withdrawn."""
    if is_loaded(version):
        return True
    if version in _withdrawn:
        return False
    withdrawal_times = Release.objects.filter(version=version).values_list("withdrawn_at", flat=True)
    if is_withdrawn := any(withdrawal_times):
        _withdrawn.add(version)
    return bool(withdrawal_times) and not is_withdrawn


def drop_withdrawn() -> None:
    """Drop withdrawn releases from memory. Takes one query."""
    with _lock:
        versions = frozenset(_loaded)
    for (version,) in _build_withdrawn_query(versions).fetch_rows() if versions else ():
        _withdrawn.add(version)
        with _lock:
            _loaded.pop(version, None)


def check_new_releases() -> None:
    """Drop releases that were withdrawn while this process loaded them. No query if none was loaded since."""
    global _has_new_releases
    if _has_new_releases:
        _has_new_releases = False
        drop_withdrawn()


def clear_cache() -> None:
    """Clear all catalogs from memory, as in a new process."""
    global _live, _live_version
    _live, _live_version = None, None
    _withdrawn.clear()
    with _lock:
        _loaded.clear()


@lru_cache(maxsize=8)
def _build_withdrawn_query(versions: frozenset[str]) -> PolledQuery:
    withdrawn = Release.objects.filter(version__in=versions, withdrawn_at__isnull=False)
    return PolledQuery(lambda: withdrawn.values_list("version"))


def _warm_up(catalog: Catalog) -> Catalog:
    for warmer in _warmers:
        warmer(catalog)
    return catalog


def _load_release(version: str) -> Catalog:
    release = Release.objects.get(version=version)
    if release.withdrawn_at is not None:
        _withdrawn.add(version)
        raise WithdrawnRelease(f"Release {release} was withdrawn: {release.withdrawn_reason}")
    if hashlib.sha256(release.content.encode()).hexdigest() != version:
        raise CorruptRelease(f"Release {version[:12]} is not what was published. The previous live release stays.")
    return builder.build_catalog(version, json.loads(release.content), release.tokens, similar=get_newest())
