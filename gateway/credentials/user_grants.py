"""Tokens of end users: used until they expire, then renewed by one process at a time."""

from datetime import timedelta

from django.db import OperationalError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from core import encryption
from core.database.deadlines import Deadline, limit_statement_time
from core.encryption import DecryptionFailed
from gateway.contracts.errors import PermissionDeniedError
from gateway.credentials import connection_secrets, token_endpoint, user_sign_in
from gateway.credentials.connection_secrets import (
    build_not_configured_error,
    build_token_unavailable_error,
    list_origins,
)
from gateway.credentials.token_endpoint import TokenRefused, TokenResponse
from gateway.models import ConnectionSecret, UserGrant
from registry.catalog.connections import ConnectionConfig

RENEWAL_MS = 10_000  # of a request for new tokens, during which a row is locked, and all of SQLite
RENEWED_BEFORE = timedelta(seconds=10)  # before a token expires, so that it does not expire on its way

# Refusals that the end user cannot change by signing in again.
_CLIENT_PROBLEMS = frozenset({"invalid_client", "unauthorized_client", "unsupported_grant_type"})


def get_access_token(config: ConnectionConfig, *, subject: str, deadline: Deadline) -> str:
    """Return an access token of an end user, renewed if it has expired.

    Raises PermissionDeniedError (sign_in_required, with a link) if the end user must sign in first.
    """
    if not subject:
        raise PermissionDeniedError(
            f"The connection {config.name} is used for one end user. Send their id in Gateway-Subject.",
            reason="subject_required",
        )
    grant = _find_grants(config, subject).first()
    if grant is not None and grant.is_expired(timezone.now() + RENEWED_BEFORE):
        grant = _renew_once(config, subject, deadline)
    if grant is None:
        raise user_sign_in.build_required_error(config, subject)
    return _decrypt(config, grant.access_token)


def expire_token(config: ConnectionConfig, subject: str) -> None:
    """Mark the access token of an end user for renewal before its next use: the upstream refused it."""
    UserGrant.objects.filter(connection__name=config.name, subject=subject).update(expires_at=timezone.now())


def list_grants(subject: str) -> list[UserGrant]:
    """Return the grants of an end user, by the name of the connection."""
    return list(UserGrant.objects.filter(subject=subject).select_related("connection").order_by("connection__name"))


def delete_grant(connection_name: str, *, subject: str) -> None:
    """Delete the grant of an end user, if there is one. They have to sign in again before the next call."""
    UserGrant.objects.filter(connection__name=connection_name, subject=subject).delete()


def _find_grants(config: ConnectionConfig, subject: str) -> QuerySet[UserGrant]:
    """Return the grant of an end user. Grants for other addresses do not count."""
    return UserGrant.objects.filter(connection__name=config.name, subject=subject, origin=list_origins(config))


def _renew_once(config: ConnectionConfig, subject: str, deadline: Deadline) -> UserGrant | None:
    """Renew a grant while its row is locked: many servers accept a refresh token only once.

    Returns None if the end user has to sign in again. If another process has renewed the grant in the meantime, its
    token is used.
    """
    try:
        with transaction.atomic():
            limit_statement_time(deadline)
            grant = _find_grants(config, subject).select_for_update(of=("self",)).first()
            if grant is None or not grant.is_expired(timezone.now() + RENEWED_BEFORE):
                return grant
            return _renew(config, grant, deadline)
    except OperationalError:  # the lock was held until the deadline
        raise build_token_unavailable_error(config, "It is being renewed.") from None


def _renew(config: ConnectionConfig, grant: UserGrant, deadline: Deadline) -> UserGrant | None:
    """Renew a grant and return it, or delete it if it cannot be renewed."""
    token = _request_renewal(config, grant, deadline) if grant.refresh_token else None
    if token is None:
        grant.delete()
        return None
    user_sign_in.set_tokens(grant, token, at=timezone.now())
    grant.save()
    return grant


def _request_renewal(config: ConnectionConfig, grant: UserGrant, deadline: Deadline) -> TokenResponse | None:
    """Return the new tokens, None if the refresh token is refused."""
    fields = {"grant_type": "refresh_token", "refresh_token": _decrypt(config, grant.refresh_token)}
    secret = connection_secrets.read_optional_secret(config, ConnectionSecret.Name.CLIENT_SECRET)
    limit = Deadline.after(milliseconds=RENEWAL_MS).or_earlier(deadline)
    try:
        return token_endpoint.request_token(config, fields, client_secret=secret, deadline=limit)
    except TokenRefused as refusal:
        if refusal.code in _CLIENT_PROBLEMS:
            why = f"its token endpoint refuses the client ({refusal.code})"
            raise build_not_configured_error(config, why) from None
        return None


def _decrypt(config: ConnectionConfig, encrypted: str) -> str:
    try:
        return encryption.decrypt(encrypted)
    except DecryptionFailed:
        why = "its tokens were encrypted with a key that GATEWAY_ENCRYPTION_KEYS lacks"
        raise build_not_configured_error(config, why) from None
