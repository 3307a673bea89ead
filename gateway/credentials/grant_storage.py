"""Storing the tokens of end users, encrypted."""

from datetime import datetime, timedelta

from core import encryption
from gateway.credentials.origins import list_origins
from gateway.credentials.token_endpoint import TokenResponse
from gateway.models import UserGrant
from registry.models import Connection


def store_grant(connection: Connection, subject: str, token: TokenResponse, *, at: datetime) -> None:
    """Store the tokens of an end user who has signed in. They replace those of an earlier sign-in."""
    grant = UserGrant(connection=connection, subject=subject, origin=list_origins(connection))
    set_tokens(grant, token, at=at)
    UserGrant.objects.bulk_create(
        [grant],
        update_conflicts=True,
        unique_fields=["connection", "subject"],
        update_fields=["access_token", "refresh_token", "expires_at", "scopes", "origin", "updated_at"],
    )


def set_tokens(grant: UserGrant, token: TokenResponse, *, at: datetime) -> None:
    """Set the tokens of a grant. A refresh token stays until the server issues another one (RFC 6749, section 6)."""
    grant.access_token = encryption.encrypt(token.access_token)
    if token.refresh_token:
        grant.refresh_token = encryption.encrypt(token.refresh_token)
    grant.expires_at = None if token.lifetime is None else at + timedelta(seconds=token.lifetime)
    grant.scopes = (token.scope or grant.scopes)[:1000]
