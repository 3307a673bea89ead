"""Sign-in of an end user at an upstream: OAuth 2.0 authorization code with PKCE (RFC 7636, S256).

An error gives the chat a link, which it shows to the end user. The link leads to a page of ours, which sends the
browser on to the upstream with a state that is valid once. The upstream sends the browser back with a code.
"""

import logging
import secrets
from base64 import urlsafe_b64encode
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from django.conf import settings
from django.core import signing

from core import encryption
from core.database.deadlines import Deadline
from gateway.contracts.errors import GatewayError, PermissionDeniedError
from gateway.credentials import connection_secrets, token_endpoint
from gateway.credentials.connection_secrets import build_not_configured_error, list_origins
from gateway.credentials.token_endpoint import TokenRefused, TokenResponse
from gateway.models import ConnectionSecret, SignIn, UserGrant
from registry.catalog import connections
from registry.catalog.connections import ConnectionConfig
from registry.models import REMOTE_KINDS, Connection

log = logging.getLogger(__name__)
MAX_AGE = 600  # seconds that a link is valid, and then its state
EXCHANGE_MS = 10_000
CALLBACK_PATH = "/connect/callback"
LINK_SALT = "gateway.sign_in.link"
STATE_SALT = "gateway.sign_in.state"


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


class SignInFailed(Exception):
    """A sign-in did not succeed. The message is for the end user."""


class BegunSignIn(NamedTuple):
    """A sign-in that has begun: its id, and where to send the browser."""

    id: str
    url: str


def build_required_error(config: ConnectionConfig, subject: str) -> PermissionDeniedError:
    """Return the error for a call that needs the end user to sign in. Its details hold the link."""
    return PermissionDeniedError(
        f"The end user must sign in to {config.name} first; nothing was done. Give them the link in "
        "requires_user_action, which works for 10 minutes, and send the call again when they have signed in.",
        reason="sign_in_required",
        details={
            "requires_user_action": {"type": "sign_in", "url": build_link(config, subject)},
            "how_to_connect": f"Sign in to {config.name}, then send your message again. The link works for 10 minutes.",
        },
    )


def build_link(config: ConnectionConfig, subject: str) -> str:
    """Return the link with which an end user signs in. Raises InternalError (503 not_configured)."""
    if not settings.GATEWAY_URL:
        raise build_not_configured_error(config, "end users sign in to it, and GATEWAY_URL is not set")
    if not encryption.is_configured():
        raise build_not_configured_error(config, "end users sign in to it, and GATEWAY_ENCRYPTION_KEYS is not set")
    token = signing.dumps([config.name, subject], salt=LINK_SALT)
    return f"{settings.GATEWAY_URL}/connect/{quote(config.name)}?{urlencode({'token': token})}"


def read_subject(name: str, token: str) -> str:
    """Return the end user of a link to a connection. Raises SignInFailed if it is not valid or too old."""
    connection_name, subject = _load_signed(token, LINK_SALT)
    if connection_name != name:
        raise SignInFailed("This link is not valid.")
    _get_config(name)
    return str(subject)


def begin(name: str, token: str, *, at: datetime) -> BegunSignIn:
    """Begin the sign-in of a link. Raises SignInFailed if the link is not valid or too old."""
    subject = read_subject(name, token)
    config = _get_config(name)
    connection = Connection.objects.filter(name=name).first()
    if connection is None:  # deleted within the last half second
        raise SignInFailed("This link is not valid.")
    verifier = secrets.token_urlsafe(48)
    sign_in = SignIn.objects.create(
        connection=connection,
        subject=subject,
        verifier=encryption.encrypt(verifier),
        created_at=at,
    )
    return BegunSignIn(str(sign_in.pk), _build_authorize_url(config, sign_in, verifier))


def get_sign_in_id(state: str) -> str:
    """Return the id of the sign-in of a state. Raises SignInFailed if it is not valid or too old."""
    (sign_in_id,) = _load_signed(state, STATE_SALT)
    return str(sign_in_id)


def finish(sign_in_id: str, code: str, *, at: datetime) -> None:
    """Exchange a code for tokens and store them as the end user's grant. Raises SignInFailed."""
    # Used up before the exchange: a state is valid once, also if the exchange fails.
    if not SignIn.objects.filter(pk=sign_in_id, used_at=None).update(used_at=at):
        raise SignInFailed("This sign-in was already used.")
    sign_in = SignIn.objects.select_related("connection").get(pk=sign_in_id)
    if not code:
        log.info("user_sign_in.refused connection=%s", sign_in.connection.name)
        raise SignInFailed("You were not signed in.")
    config = _get_config(sign_in.connection.name)
    store_grant(sign_in.connection, sign_in.subject, _exchange_code(config, sign_in, code), at=at)
    log.info("user_sign_in.finished connection=%s", config.name)


def _exchange_code(config: ConnectionConfig, sign_in: SignIn, code: str) -> TokenResponse:
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": _get_redirect_uri(),
        "code_verifier": encryption.decrypt(sign_in.verifier),
    }
    try:
        secret = connection_secrets.read_optional_secret(config, ConnectionSecret.Name.CLIENT_SECRET)
        deadline = Deadline.after(milliseconds=EXCHANGE_MS)
        return token_endpoint.request_token(config, fields, client_secret=secret, deadline=deadline)
    except TokenRefused as refusal:
        log.warning("user_sign_in.code_refused connection=%s error=%s", config.name, refusal.code)
    except GatewayError as error:
        log.warning("user_sign_in.failed connection=%s reason=%s", config.name, error.reason)
    raise SignInFailed("You could not be signed in.")


def _build_authorize_url(config: ConnectionConfig, sign_in: SignIn, verifier: str) -> str:
    digest = sha256(verifier.encode()).digest()
    query = {
        "response_type": "code",
        "client_id": config.client_id,
        "redirect_uri": _get_redirect_uri(),
        **({"scope": config.scopes} if config.scopes else {}),
        "state": signing.dumps([str(sign_in.pk)], salt=STATE_SALT),
        "code_challenge": urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    return f"{config.authorize_url}{'&' if '?' in config.authorize_url else '?'}{urlencode(query)}"


def _get_config(name: str) -> ConnectionConfig:
    config = connections.get_connections().by_name.get(name)
    if config is None or config.kind not in REMOTE_KINDS or config.auth != Connection.Auth.USER_OAUTH:
        raise SignInFailed("End users no longer sign in to this service.")
    return config


def _get_redirect_uri() -> str:
    return f"{settings.GATEWAY_URL}{CALLBACK_PATH}"


def _load_signed(token: str, salt: str) -> list[Any]:
    try:
        values: list[Any] = signing.loads(token, salt=salt, max_age=MAX_AGE)
    except signing.SignatureExpired:
        raise SignInFailed("This link is too old.") from None
    except signing.BadSignature:
        raise SignInFailed("This link is not valid.") from None
    return values
