"""Under what a call is served: a surface and a release, as its toolset says, else as the flags say for its headers."""

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
    """What whoever calls is shown, and why."""

    surface: str = Surface.LEGACY
    release: str = ""  # the version of one; empty: whichever is live
    cohort: str = ""  # the cohorts that decided, as events tell them


DEFAULT = Served()


def decide(facts: Facts) -> tuple[Served, list[Outcome]]:
    """Return what the flags say for somebody, and each flag's outcome. No query, but for a release new to memory."""
    people.note(facts, timezone.now())
    outcomes = [flags.decide(flag, facts) for flag in (FlagKey.SURFACE, FlagKey.RELEASE)]
    surface, release = outcomes
    version = "" if release.variant == LIVE else release.variant
    return Served(surface.variant, version, evaluation.told(outcomes)), outcomes


def by_flags(subject: str, facts: Callable[[], Facts], at: datetime) -> Served:
    """Return what a call without a toolset is served under; whom a cohort gives another copy was exposed to it.

    The facts are made only where they are needed: most calls are of somebody seen, and where there is no cohort.
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
    """Have written down what a subject is shown."""
    exposures.record(outcomes, subject=subject, at=timezone.now())


def catalog(served: Served) -> Catalog:
    """Return the catalog that a call is answered from. Raises Failed where its release is gone since it was decided."""
    if not served.release:
        return catalogs.live()
    try:
        return catalogs.get(served.release)
    except GONE:
        raise Failed(
            "The release that this call is served under was just withdrawn. Send it again, with a new toolset.",
            status=503,
            reason="release_gone",
            retryable=True,
            headers={"Retry-After": "1"},
        ) from None


def follow() -> None:
    """Load the releases that cohorts are on ahead of their calls, as many as a process keeps; a follower's task."""
    cohorts = current.current().cohorts.get(FlagKey.RELEASE, ())
    pinned = dict.fromkeys(cohort.variant for cohort in cohorts if cohort.variant != LIVE)
    for version in list(pinned)[: settings.GATEWAY_RELEASES_KEPT - 1]:
        catalogs.ready(version)
