"""Which surface and release serve a call: those of its toolset, else those that the flags choose for its headers."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from analytics.rollout import evaluation, exposures, last_seen, rollout_cache
from analytics.rollout.evaluation import EvaluationDetails
from analytics.rollout.evaluation_context import EvaluationContext
from analytics.rollout.flags import LIVE, FlagKey, Surface
from gateway.clients.key_verification import VerifiedKey
from gateway.contracts.errors import InternalError
from gateway.routing import flags
from registry.catalog import cache
from registry.catalog.model import Catalog
from registry.models import Release

RELEASE_GONE_ERRORS = (Release.DoesNotExist, cache.CorruptRelease, cache.WithdrawnRelease)


@dataclass(frozen=True, slots=True)
class Routing:
    """The surface and release that serve a caller, and the cohorts that decided."""

    surface: str = Surface.LEGACY
    release: str = ""  # version; empty: the live release
    cohort: str = ""  # the cohorts that decided, in the form of operation events
    native_format: str = ""  # on the native surface: the format of the tools that a search loads


DEFAULT_ROUTING = Routing()


def evaluate_flags(evaluation_context: EvaluationContext) -> tuple[Routing, list[EvaluationDetails]]:
    """Evaluate the surface and release flags. Queries only for a release that is not in memory.

    Returns the result and the outcome of each flag.
    """
    last_seen.record_context(evaluation_context, timezone.now())
    outcomes = [flags.evaluate_flag(flag, evaluation_context) for flag in (FlagKey.SURFACE, FlagKey.RELEASE)]
    surface, release = outcomes
    version = "" if release.variant == LIVE else release.variant
    return Routing(surface.variant, version, evaluation.join_cohort_names(outcomes)), outcomes


def route_by_flags(
    key: VerifiedKey, subject: str, get_evaluation_context: Callable[[], EvaluationContext], at: datetime
) -> Routing:
    """Return the surface and release of a call without a toolset, and record an exposure if a cohort chose the release.

    The evaluation context is built only if needed. Most calls need none: there is no cohort, and the subject was seen
    recently.
    """
    if not rollout_cache.get_current().cohorts:
        if last_seen.is_due(subject, at):
            last_seen.record_context(get_evaluation_context(), at)
        return DEFAULT_ROUTING
    routing, (_, release) = evaluate_flags(get_evaluation_context())
    if release.cohort:
        record_exposures([release], key, subject)
    return routing


def record_exposures(outcomes: Iterable[EvaluationDetails], key: VerifiedKey, subject: str) -> None:
    """Record an exposure of the subject for each outcome, within the quota of the key that names the subject."""
    exposures.record_exposures(outcomes, subject=subject, source=key.prefix, at=timezone.now())


def get_catalog(routing: Routing) -> Catalog:
    """Return the catalog that serves a call. Raises InternalError if its release was withdrawn in the meantime."""
    if not routing.release:
        return cache.get_live_catalog()
    try:
        return cache.get_catalog(routing.release)
    except RELEASE_GONE_ERRORS:
        raise InternalError(
            "The release that serves this call was just withdrawn. Send the call again with a new toolset.",
            status=503,
            reason="release_gone",
            retryable=True,
            headers={"Retry-After": "1"},
        ) from None


def preload_cohort_releases() -> None:
    """Preload the releases that cohorts use, as many as a process keeps. The poller calls this."""
    cohorts = rollout_cache.get_current().cohorts.get(FlagKey.RELEASE, ())
    versions = dict.fromkeys(cohort.variant for cohort in cohorts if cohort.variant != LIVE)
    for version in list(versions)[: settings.GATEWAY_RELEASES_KEPT - 1]:
        cache.preload_release(version)
