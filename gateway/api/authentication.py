"""Authentication by API key."""

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication

from gateway.access import key_verification
from gateway.access.key_verification import VerifiedKey
from gateway.contracts.errors import PermissionDeniedError


class KeyAuthentication(BaseAuthentication):
    """Authenticate Bearer keys (RFC 6750). There is no user."""

    def authenticate(self, request: HttpRequest) -> tuple[None, VerifiedKey]:
        """Raise PermissionDeniedError (401) without a valid key."""
        scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise _build_unauthenticated_error("Send an API key as Authorization: Bearer <key>.")
        key = self.find_key(token.strip())
        if key is None:
            raise _build_unauthenticated_error(
                "The API key is not valid: unknown, expired or revoked. Ask for a new one."
            )
        return None, key

    def find_key(self, token: str) -> VerifiedKey | None:
        """Return the key that a bearer token stands for, None if it is not valid."""
        return key_verification.verify(token)


def _build_unauthenticated_error(message: str) -> PermissionDeniedError:
    return PermissionDeniedError(message, status=401, reason="unauthenticated", headers={"WWW-Authenticate": "Bearer"})
