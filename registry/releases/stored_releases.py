"""Find published releases, their content, and their names for people."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from core.text import json_text
from registry.drafts.history import FreezeTimes
from registry.models import Activation, Release
from registry.snapshot.entries import Snapshot

MAX_NUMBER_DIGITS = 9  # of the number of a release, as in r12
MIN_VERSION_PREFIX = 6  # characters of a version needed to find a release
LARGE_COLUMNS = ("release__content", "release__tokens", "release__accepted_warnings")  # large columns, to be deferred
SHORT_VERSION = 12  # characters of a version on pages
EntryKey = tuple[str, str]  # the kind and the name of an entry


class UnknownRelease(Exception):
    """No release matches this version, or more than one does."""


def get_live_release() -> Release | None:
    """Return the live release, or None if nothing has been published yet."""
    activation = Activation.objects.filter(is_live=True).select_related("release").first()
    return activation.release if activation else None


def lock_live_version() -> str:
    """Lock the pointer to the live release until the transaction ends, and return its version; "" if there is none.

    Whoever makes a release live has this lock, and so has whoever reviews or schedules entries of the draft.
    """
    list(Activation.objects.select_for_update().filter(is_live=True))
    return get_live_version()  # read after the lock: who held it may have moved the pointer


def get_live_version() -> str:
    """Return the version of the live release, or "" if nothing has been published yet."""
    return Activation.objects.filter(is_live=True).values_list("release_id", flat=True).first() or ""


def get_live_activation_time() -> datetime | None:
    """Return when the live release was made live, or None if nothing has been published yet."""
    return Activation.objects.filter(is_live=True).values_list("activated_at", flat=True).first()


def is_live(version: str) -> bool:
    """Return whether the release with this version is live."""
    return Activation.objects.filter(is_live=True, release=version).exists()


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


def get_next_number() -> int:
    """Return the number that the next release gets, as in r13."""
    newest = Release.objects.exclude(number=None).order_by("-number").values_list("number", flat=True).first()
    return (newest or 0) + 1


def get_previous_release() -> Release:
    """Return the release that was live before the current one, skipping withdrawn ones. Raises UnknownRelease."""
    live_version = Activation.objects.filter(is_live=True).values_list("release_id", flat=True).first()
    earlier = Activation.objects.filter(is_live=False, release__withdrawn_at=None).select_related("release")
    activation = earlier.exclude(release=live_version).defer(*LARGE_COLUMNS).order_by("-activated_at", "-id").first()
    if activation is None:
        raise UnknownRelease("There is no earlier live release, or all were withdrawn.")
    return activation.release


def load_content(release: Release) -> Snapshot:
    """Return a release's content as a snapshot (see registry.snapshot.snapshot)."""
    snapshot_content: Snapshot = json_text.load(release.content)
    return snapshot_content


def load_freeze_times() -> tuple[str, FreezeTimes]:
    """Return the live version and when its entries were frozen: those that were not selected, with its base."""
    rows = Release.objects.values_list("version", "base", "selected_entries", "created_at")
    row = rows.filter(activations__is_live=True).first()
    live_version, selected = row[0] if row else "", dict[EntryKey, datetime]()
    while row is not None:
        _, base, entries, created_at = row
        if entries is None:
            return live_version, FreezeTimes(created_at, selected)
        for kind, name in entries:
            selected.setdefault((kind, name), created_at)
        row = rows.filter(version=base).first()
    return live_version, FreezeTimes(None, selected)


def map_short_names(versions: Iterable[str]) -> dict[str, str]:
    """Return the short name of each version, such as "r12 Clearer summaries".

    If the release no longer exists, these are the first characters of the version.
    """
    names = {version: version[:SHORT_VERSION] for version in versions}
    rows = Release.objects.filter(pk__in=list(names)).only("number", "name")
    return names | {row.pk: row.short_name for row in rows}


def list_release_labels(versions: Iterable[str]) -> list[tuple[str, str]]:
    """Return each version with its number, name and last note, such as "r2 · Shipped copy", the newest first.

    Those of releases that no longer exist come last.
    """
    versions = list(versions)
    releases = Release.objects.filter(pk__in=versions).only("number", "name").order_by("-created_at")
    rows: Iterable[Any] = annotate_own_note(releases)
    labels = {row.pk: " · ".join(filter(None, [row.short_name, row.own_note])) for row in rows}
    return [*labels.items(), *((version, version[:SHORT_VERSION]) for version in versions if version not in labels)]


def annotate_own_note(releases: QuerySet[Release]) -> QuerySet[Release]:
    """Add what each release was made live with first, as `own_note`."""
    return releases.annotate(own_note=build_own_note("pk"))


def build_own_note(release: str) -> Subquery:
    """Return the first note of a release, which says what it is. Later notes say why it is live again."""
    return Subquery(Activation.objects.filter(release=OuterRef(release)).order_by("id").values("note")[:1])
