"""Access tokens: how they look, and the API key whose rights a token has."""

import secrets
from datetime import datetime
from hashlib import sha256
from typing import Any

from oauth2_provider.models import AccessToken

from gateway.clients import key_verification
from gateway.clients.key_verification import MAX_LENGTH, VerifiedKey
from gateway.models import SignedInApplication
from gateway.oauth import resource

PREFIX = "gwo_"


def generate_token(_: Any) -> str:
    """Return a new access or refresh token of 256 random bits. Only we can compute its end, as of a key."""
    return key_verification.build_plaintext(PREFIX.rstrip("_"), secrets.token_urlsafe(32))


def verify(token: str, *, at: datetime) -> VerifiedKey | None:
    """Return the key whose rights an access token has, or None if the token is not valid. At most three queries.

    Guessing costs no queries. Tokens are not remembered, so one that is revoked, or whose key is, ends at once.
    """
    if len(token) > MAX_LENGTH or not token.isprintable() or not key_verification.is_ours(token):
        return None
    row = AccessToken.objects.filter(
        token_checksum=sha256(token.encode()).hexdigest(), expires__gt=at, user__is_active=True
    ).first()
    if row is None or row.resource != [resource.get_identifier()]:
        return None
    links = SignedInApplication.objects.filter(
        application_id=row.application_id, user_id=row.user_id, key__revoked_at=None, key__client__is_active=True
    )
    key_id = links.values_list("key_id", flat=True).first()
    key = key_verification.get_by_id(key_id) if key_id is not None else None
    if key is not None:
        key_verification.record_use(key)
    return key
