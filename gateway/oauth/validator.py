"""What an OAuth request may do: public applications, one scope, one resource, users who are active."""

from typing import Any

from django.utils import timezone
from oauth2_provider.models import Grant
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
        """Refuse the code of a user or application whose access has ended."""
        is_valid: bool = super().validate_code(client_id, code, client, request, *args, **kwargs)
        return is_valid and sign_ins.may_continue(client, request.user, at=timezone.now())

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
