"""Which OAuth requests are allowed, how access tokens look, and their one resource, /mcp (RFC 8707)."""

import secrets
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.utils import timezone
from oauth2_provider.models import AccessToken, Grant, RefreshToken
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2.rfc6749 import errors

from gateway.access import key_verification
from gateway.access.key_verification import MAX_LENGTH, VerifiedKey
from gateway.models import SignedInApplication
from gateway.oauth import sign_ins

PATH = "/mcp"
METADATA_PATH = f"/.well-known/oauth-protected-resource{PATH}"
SCOPE = "mcp"
PREFIX = "gwo_"


def get_identifier() -> str:
    """Return the URL of /mcp, which tokens name as their audience."""
    return f"{settings.GATEWAY_URL}{PATH}"


def get_metadata_url() -> str:
    """Return the URL of the document that says where to sign in."""
    return f"{settings.GATEWAY_URL}{METADATA_PATH}"


def accepts_resources(indicators: Sequence[str]) -> bool:
    """Return whether all resource indicators of a request mean /mcp. A request without one also means it."""
    return all(indicator.rstrip("/") == get_identifier() for indicator in indicators)


class PublicClientValidator(OAuth2Validator):  # type: ignore[misc]  # django-oauth-toolkit has no type hints
    """The rules of django-oauth-toolkit, and those of this gateway."""

    def _check_secret(self, provided_secret: str, stored_secret: str) -> bool:
        """Refuse every secret: applications are public. Hashing a secret would cost a tenth of a second."""
        return False

    def validate_scopes(
        self, client_id: str, scopes: Any, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Grant the only scope, whatever was requested (RFC 6749, section 3.3). Clients ask for offline_access."""
        request.scopes = [SCOPE]
        return True

    def is_within_original_scope(
        self, request_scopes: Any, refresh_token: str, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Also grant the only scope for a refresh, whatever was requested."""
        request.scopes = [SCOPE]
        return True

    def validate_code(self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        """Refuse the code of a user or application whose access has ended, and end what a used code gave."""
        is_valid: bool = super().validate_code(client_id, code, client, request, *args, **kwargs)
        if not is_valid:
            sign_ins.end_reused_code(code, client)
        return is_valid and sign_ins.may_continue(client, request.user, at=timezone.now())

    def invalidate_authorization_code(self, client_id: str, code: str, request: Any, *args: Any, **kwargs: Any) -> None:
        """Keep the code until it is cleaned up, as used: a second use shows that somebody else has it."""
        if not sign_ins.mark_code_used(code, request.client, at=timezone.now()):
            raise errors.InvalidGrantError(request=request)

    def _save_bearer_token(self, token: dict[str, Any], request: Any, *args: Any, **kwargs: Any) -> None:
        """Refuse a refresh if another one with the same token came first: both have passed the validation."""
        used = getattr(request, "refresh_token_instance", None)
        if used is not None:
            current = RefreshToken.objects.select_for_update().filter(pk=used.pk).first()
            if current is None or current.revoked is not None:
                raise errors.InvalidGrantError(request=request)
        super()._save_bearer_token(token, request, *args, **kwargs)

    def validate_refresh_token(self, refresh_token: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        """Refuse the refresh token of a user or application whose access has ended."""
        is_valid: bool = super().validate_refresh_token(refresh_token, client, request, *args, **kwargs)
        return is_valid and sign_ins.may_continue(client, request.user, at=timezone.now())

    def _create_authorization_code(self, request: Any, code: dict[str, Any], expires: Any = None) -> Grant:
        request.resource = [get_identifier()]  # the view has checked what was asked for
        return super()._create_authorization_code(request, code, expires)

    def _check_and_set_request_resource(self, request: Any) -> None:
        """Issue tokens for /mcp only (RFC 8707). Raises invalid_target if a client names something else."""
        if not accepts_resources([value for name, value in request.decoded_body or [] if name == "resource"]):
            raise errors.CustomOAuth2Error("invalid_target", "Tokens are for the MCP server only.", request=request)
        request.resource = [get_identifier()]


def generate_token(_: Any) -> str:
    """Return a new access or refresh token of 256 random bits. Only we can compute its end, as with API keys."""
    return key_verification.build_plaintext(PREFIX.rstrip("_"), secrets.token_urlsafe(32))


def verify_access_token(token: str, *, at: datetime) -> VerifiedKey | None:
    """Return the key whose rights an access token has, or None if the token is not valid. At most three queries.

    Guessing costs no queries. Tokens are not cached, so a revoked token, or one with a revoked key, ends immediately.
    """
    if len(token) > MAX_LENGTH or not token.isprintable() or not key_verification.is_ours(token):
        return None
    row = AccessToken.objects.filter(
        token_checksum=sha256(token.encode()).hexdigest(), expires__gt=at, user__is_active=True
    ).first()
    if row is None or row.resource != [get_identifier()]:
        return None
    links = SignedInApplication.objects.filter(
        application_id=row.application_id, user_id=row.user_id, key__revoked_at=None, key__client__is_active=True
    )
    key_id = links.values_list("key_id", flat=True).first()
    key = key_verification.get_by_id(key_id) if key_id is not None else None
    if key is not None:
        key_verification.record_use(key)
    return key
