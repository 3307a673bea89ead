"""Authentication by API key, and the scope that a view requires."""

from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from gateway.access import key_verification
from gateway.access.key_verification import VerifiedKey
from gateway.contracts.errors import PermissionDeniedError


class KeyAuthentication(BaseAuthentication):
    """Authenticate Bearer keys (RFC 6750). Sets request.auth to the VerifiedKey; there is no user."""

    def authenticate(self, request: Request) -> tuple[None, VerifiedKey]:
        """Raise PermissionDeniedError (401) without a valid key."""
        scheme, _, token = request._request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
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

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class HasScope(BasePermission):
    """Require the scope that the view names. exec has none: the op decides which scope it needs."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return True. Raise PermissionDeniedError if the key lacks the scope."""
        key: VerifiedKey = request.auth  # type: ignore[assignment]  # DRF's stubs know only its own Token
        if view.scope is not None and view.scope not in key.scopes:
            raise PermissionDeniedError(
                f"This API key lacks the scope {view.scope}. Use a key that has it.", reason="scope_missing"
            )
        return True


def _build_unauthenticated_error(message: str) -> PermissionDeniedError:
    return PermissionDeniedError(message, status=401, reason="unauthenticated", headers={"WWW-Authenticate": "Bearer"})
