"""Which surface and release serve a call: those of its toolset, else those that the flags choose for its headers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from analytics.rollout import current, evaluation, exposures, people
from analytics.rollout.evaluation import Outcome
from analytics.rollout.facts import Facts
from analytics.rollout.flags import LIVE, FlagKey, Surface
from gateway import flags
from gateway.errors import Failed
from registry import catalogs
from registry.catalogs import Catalog
from registry.models import Release

GONE = (Release.DoesNotExist, catalogs.CorruptRelease, catalogs.WithdrawnRelease)


@dataclass(frozen=True, slots=True)
class Served:
    """The surface and release that serve a caller, and the cohorts that decided."""

    surface: str = Surface.LEGACY
    release: str = ""  # version; empty: the live release
    cohort: str = ""  # the cohorts that decided, in the form of operation events


DEFAULT = Served()


def decide(facts: Facts) -> tuple[Served, list[Outcome]]:
    """Evaluate the surface and release flags. Queries only for a release that is not in memory.

    Returns the result and the outcome of each flag.
    """
    people.note(facts, timezone.now())
    outcomes = [flags.decide(flag, facts) for flag in (FlagKey.SURFACE, FlagKey.RELEASE)]
    surface, release = outcomes
    version = "" if release.variant == LIVE else release.variant
    return Served(surface.variant, version, evaluation.told(outcomes)), outcomes


def by_flags(subject: str, facts: Callable[[], Facts], at: datetime) -> Served:
    """Return the surface and release of a call without a toolset, and record an exposure if a cohort chose the release.

    The evaluation context is built only if needed. Most calls need none: there is no cohort, and the subject was seen
    recently.
    """
    if not current.current().cohorts:
        if people.is_due(subject, at):
            people.note(facts(), at)
        return DEFAULT
    served, (_, release) = decide(facts())
    if release.cohort:
        expose([release], subject)
    return served


def expose(outcomes: Iterable[Outcome], subject: str) -> None:
    """Record an exposure of the subject for each outcome."""
    exposures.record(outcomes, subject=subject, at=timezone.now())


def catalog(served: Served) -> Catalog:
    """Return the catalog that serves a call. Raises Failed if its release was withdrawn in the meantime."""
    if not served.release:
        return catalogs.live()
    try:
        return catalogs.get(served.release)
    except GONE:
        raise Failed(
            "The release that serves this call was just withdrawn. Send the call again with a new toolset.",
            status=503,
            reason="release_gone",
            retryable=True,
            headers={"Retry-After": "1"},
        ) from None


def follow() -> None:
    """Preload the releases that cohorts use, as many as a process keeps. The follower thread calls this."""
    cohorts = current.current().cohorts.get(FlagKey.RELEASE, ())
    pinned = dict.fromkeys(cohort.variant for cohort in cohorts if cohort.variant != LIVE)
    for version in list(pinned)[: settings.GATEWAY_RELEASES_KEPT - 1]:
        catalogs.ready(version)
