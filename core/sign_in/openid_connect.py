"""What a provider of OpenID Connect must prove before anybody is signed in (OpenID Connect Core 1.0, section 3.1.3.7).

django-allauth reads claims as they come and believes an ID token that it fetched itself. Here each sign-in needs an ID
token with a signature of the provider's keys, for this client and this browser, and claims of exactly the right type.
"""

import secrets
from typing import Any

import jwt
from allauth.account.models import EmailAddress
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.http import HttpRequest, HttpResponse

# Signed with a key that only the provider has: neither "none" nor our own client secret (HS256).
ALGORITHMS = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"}
)
MAX_SUBJECT_LENGTH = 255  # characters (section 8)
LEEWAY_SECONDS = 60  # clocks differ
MAX_OPEN = 5  # sign-ins that one browser can have begun, such as in several tabs
NONCES = "single_sign_on_nonces"  # in the session


class InvalidAnswer(OAuth2Error):  # type: ignore[misc]  # allauth has no type hints
    """The provider's answer proves nothing. The message says why, for the log."""


class VerifyingAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth has no type hints
    """Accepts an answer only with an ID token that is signed for this client and this browser."""

    def complete_login(self, request: HttpRequest, app: SocialApp, token: Any, **kwargs: Any) -> Any:
        """Return the sign-in that the answer proves. Raises InvalidAnswer."""
        id_token = kwargs["response"].get("id_token")
        if not isinstance(id_token, str) or not id_token:
            raise InvalidAnswer("it has no ID token")
        claims = self._decode_id_token(app, id_token)
        _use_nonce(request, claims.get("nonce"))
        userinfo = self._fetch_user_info(token.token)
        if not isinstance(userinfo, dict) or userinfo.get("sub") != claims.get("sub"):
            raise InvalidAnswer("the ID token and the user info are about different people")
        return self.get_provider().sociallogin_from_response(request, {"userinfo": userinfo, "id_token": claims})

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        """Return the claims of an ID token. Its signature, issuer, audience and times are checked."""
        try:
            header = jwt.get_unverified_header(id_token)
            if header.get("alg") not in ALGORITHMS:
                raise InvalidAnswer("the ID token is not signed with a key of the provider")
            claims: dict[str, Any] = jwt.decode(
                id_token,
                self._find_key(header),
                algorithms=[header["alg"]],
                issuer=self.openid_config["issuer"],
                audience=app.client_id,
                leeway=LEEWAY_SECONDS,
                options={"require": ["iss", "aud", "exp", "iat"]},
            )
        except jwt.PyJWTError as error:
            raise InvalidAnswer(f"the ID token is invalid ({type(error).__name__})") from None
        if claims.get("azp", app.client_id) != app.client_id:
            raise InvalidAnswer("the ID token was issued to another client")
        return claims

    def _find_key(self, header: dict[str, Any]) -> jwt.PyJWK:
        """Return the provider's key of a token; its only one if the token names none. Raises PyJWTError."""
        with get_adapter().get_requests_session() as session:
            answer = session.get(self.openid_config["jwks_uri"])
            answer.raise_for_status()
            keys = [key for key in jwt.PyJWKSet.from_dict(answer.json()).keys if key.public_key_use in (None, "sig")]
        named = [key for key in keys if key.key_id == header["kid"]] if "kid" in header else keys
        if len(named) != 1:
            raise InvalidAnswer("no key of the provider matches that of the ID token")
        return named[0]


class VerifyingProvider(OpenIDConnectProvider):  # type: ignore[misc]  # allauth has no type hints
    """Asks for a nonce in the ID token, believes claims of the right type only, and stores none of them."""

    oauth2_adapter_class = VerifyingAdapter

    def redirect(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Send the browser to the provider, with a nonce that the ID token must repeat."""
        nonce = secrets.token_urlsafe(24)
        request.session[NONCES] = [*request.session.get(NONCES, ())[-MAX_OPEN + 1 :], nonce]
        # The parameters of the link are left out: anybody could have made it.
        kwargs = {name: each for name, each in kwargs.items() if name not in ("auth_params", "scope")}
        auth_params = self.get_auth_params() | {"nonce": nonce}
        response: HttpResponse = super().redirect(request, *args, auth_params=auth_params, **kwargs)
        return response

    def extract_uid(self, data: dict[str, Any]) -> str:
        """Return the provider's id of the person. Raises InvalidAnswer."""
        subject = data["id_token"].get("sub")
        if not isinstance(subject, str) or not subject.strip() or len(subject) > MAX_SUBJECT_LENGTH:
            raise InvalidAnswer("it does not say who the person is")
        return subject

    def extract_email_addresses(self, data: dict[str, Any]) -> list[EmailAddress]:
        """Return the address. It is verified if the provider says `true`, or "true" as some do, and nothing else."""
        address, said = (data["userinfo"].get(name) for name in ("email", "email_verified"))
        is_verified = said is True or said == "true"
        return [EmailAddress(email=address, verified=is_verified, primary=True)] if isinstance(address, str) else []

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return what to store of the claims: nothing. What a provider says about people is not ours to keep."""
        return {}


def _use_nonce(request: HttpRequest, nonce: object) -> None:
    """Accept a nonce that this browser was sent with, once. Raises InvalidAnswer."""
    nonces = request.session.get(NONCES, [])
    if nonce not in nonces:
        raise InvalidAnswer("the ID token is not for this browser")
    request.session[NONCES] = [each for each in nonces if each != nonce]
