"""What an OAuth request may do: public applications, one scope, one resource, users who are active."""

from typing import Any

from django.utils import timezone
from oauth2_provider.models import Grant, RefreshToken
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2.rfc6749 import errors

from gateway.oauth import resource, sign_ins

SCOPE = "mcp"


class PublicClientValidator(OAuth2Validator):  # type: ignore[misc]  # django-oauth-toolkit has no type hints
    """The rules of django-oauth-toolkit, and those of this gateway."""

    def _check_secret(self, provided_secret: str, stored_secret: str) -> bool:
        """Refuse every secret: applications are public. Hashing what anybody sends would cost a tenth of a second."""
        return False

    def validate_scopes(
        self, client_id: str, scopes: Any, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Grant the only scope, whatever was asked for (RFC 6749, section 3.3). Clients ask for offline_access."""
        request.scopes = [SCOPE]
        return True

    def is_within_original_scope(
        self, request_scopes: Any, refresh_token: str, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Grant the only scope for a refresh, too, whatever was asked for."""
        request.scopes = [SCOPE]
        return True

    def validate_code(self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any) -> bool:
        """Refuse the code of a user or application whose access has ended, and end what a used code gave."""
        is_valid: bool = super().validate_code(client_id, code, client, request, *args, **kwargs)
        if not is_valid:
            sign_ins.end_reused_code(code, client)
        return is_valid and sign_ins.may_continue(client, request.user, at=timezone.now())

    def invalidate_authorization_code(self, client_id: str, code: str, request: Any, *args: Any, **kwargs: Any) -> None:
        """Keep the code until it is cleaned up, as used: a second use tells that somebody else has it."""
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
        request.resource = [resource.get_identifier()]  # the view has checked what was asked for
        return super()._create_authorization_code(request, code, expires)

    def _check_and_set_request_resource(self, request: Any) -> None:
        """Issue tokens for /mcp only (RFC 8707). Raises invalid_target if a client names something else."""
        if not resource.accepts([value for name, value in request.decoded_body or [] if name == "resource"]):
            raise errors.CustomOAuth2Error("invalid_target", "Tokens are for the MCP server only.", request=request)
        request.resource = [resource.get_identifier()]
