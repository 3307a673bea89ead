"""The catalog that serves a call, and the token of a toolset, which keeps its surface and release for later calls."""

import secrets
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from django.conf import settings
from django.core import signing

from analytics.flags import LIVE, FlagKey
from analytics.rollout.assignment import Routing, get_current_rollout
from gateway.access.key_verification import VerifiedKey
from gateway.contracts.errors import InternalError, InvalidRequestError, PermissionDeniedError
from registry.catalog import cache
from registry.catalog.model import Catalog
from registry.models import Release

RELEASE_GONE_ERRORS = (Release.DoesNotExist, cache.CorruptRelease, cache.WithdrawnRelease)
SALT = "gateway.toolset"
CALL_MAX_AGE = 15 * 60  # seconds; calls
TELEMETRY_MAX_AGE = 24 * 3600  # seconds; telemetry about its turn
MAX_LENGTH = 4_000  # characters
NEW_TOOLSET_HINT = "Get one from POST /api/v1/toolset and send its id."


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
    cohorts = get_current_rollout().cohorts.get(FlagKey.RELEASE, ())
    versions = dict.fromkeys(cohort.variant for cohort in cohorts if cohort.variant != LIVE)
    for version in list(versions)[: settings.GATEWAY_RELEASES_KEPT - 1]:
        cache.preload_release(version)


@dataclass(frozen=True, slots=True)
class LegacyTools:
    """What a toolset of the legacy surface showed: `format` and `step` are for wider ones, `selection` for reports."""

    format: str
    step: int = 0  # how often it was escalated
    selection: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolsetToken:
    """The content of a token: its short name, what it serves, and for which subject."""

    name: str
    served: Routing
    subject: str
    legacy: LegacyTools | None = None


def issue_toolset(served: Routing, *, key: VerifiedKey, subject: str, legacy: LegacyTools | None = None) -> str:
    """Return a token for a client and a subject. `served` must name a release.

    A selection that makes it too long is left out: the turn goes on as if it had all tools of its context.
    """
    payload: list[Any] = [secrets.token_hex(8), served.surface, served.release, served.cohort, key.client_id, subject]
    payload += [served.native_format] if served.native_format or legacy or served.own_tools else []
    payload += [None, served.own_tools] if served.own_tools else []
    if legacy is None:
        return signing.dumps(payload, salt=SALT)
    token = signing.dumps([*payload, asdict(legacy)], salt=SALT, compress=True)
    if len(token) <= MAX_LENGTH:
        return token
    short = {name: value for name, value in legacy.selection.items() if not isinstance(value, list)}
    return signing.dumps([*payload, asdict(replace(legacy, selection=short))], salt=SALT, compress=True)


def verify_toolset(token: str, *, key: VerifiedKey, subject: str) -> ToolsetToken:
    """Return the toolset of a token that a call sends. Queries only for a release that is not in memory.

    Raises InvalidRequestError if it is not a token, has expired or its release was withdrawn; PermissionDeniedError if
    it belongs to another client or subject.
    """
    toolset = _decode_token(token, key, max_age=CALL_MAX_AGE)
    if toolset.subject != subject:
        raise PermissionDeniedError(
            "The toolset belongs to another subject. " + NEW_TOOLSET_HINT, reason="toolset_of_another"
        )
    if not cache.is_servable(toolset.served.release):
        raise InvalidRequestError(
            "The toolset's release was withdrawn. " + NEW_TOOLSET_HINT, reason="toolset_withdrawn"
        )
    return toolset


def verify_for_telemetry(token: str, *, key: VerifiedKey) -> ToolsetToken:
    """Return the toolset of a reported turn, up to 24 hours after it was issued.

    Raises InvalidRequestError, PermissionDeniedError.
    """
    toolset = _decode_token(token, key, max_age=TELEMETRY_MAX_AGE)
    if toolset.subject and not key.may_act_for(toolset.subject):
        raise PermissionDeniedError(
            "The toolset belongs to another subject. " + NEW_TOOLSET_HINT, reason="toolset_of_another"
        )
    return toolset


def _decode_token(token: str, key: VerifiedKey, *, max_age: int) -> ToolsetToken:
    try:
        if len(token) > MAX_LENGTH:
            raise signing.BadSignature
        name, surface, release, cohort, client, subject, *more = signing.loads(token, salt=SALT, max_age=max_age)
    except signing.SignatureExpired:
        raise InvalidRequestError("The toolset has expired. " + NEW_TOOLSET_HINT, reason="toolset_expired") from None
    except signing.BadSignature:
        raise InvalidRequestError("Unknown toolset. " + NEW_TOOLSET_HINT, reason="unknown_toolset") from None
    if client != key.client_id:
        raise PermissionDeniedError(
            "The toolset belongs to another client. " + NEW_TOOLSET_HINT, reason="toolset_of_another"
        )
    defaults: list[Any] = ["", None, ()]  # a token has these only as far as they are needed
    native_format, legacy, own_tools = more + defaults[len(more) :]
    routing = Routing(surface, release, cohort, native_format, tuple(own_tools))
    return ToolsetToken(name, routing, subject, LegacyTools(**legacy) if legacy else None)
