"""Build the request to an upstream: its credentials, the end user, and our own headers.

What it adds replaces what the args of a call put in the same place: no arg can pass for a credential or for another
end user.
"""

import hashlib
import hmac
import random
import re
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol
from urllib.parse import quote, quote_plus, unquote_plus, urlsplit, urlunsplit

import orjson
from django.conf import settings
from django.utils import timezone

from core.database.deadlines import Deadline
from core.records import record
from gateway.credentials import connection_secrets, end_user_settings, token_endpoint, user_grants, user_keys
from gateway.credentials.connection_secrets import get_origin
from gateway.credentials.user_keys import EnteredKey
from gateway.executors.base import UpstreamCall
from gateway.models import ConnectionSecret
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection

_TRACE_ID = re.compile(r"tr_([0-9a-f]{32})")
LIFETIME = 60  # seconds
ISSUER = "tool-gateway"
_COOKIE_CHARACTERS = "!#$%&'()*+-./:<=>?@[]^_`{|}~"  # of a value (RFC 6265), besides letters and digits


@record(repr=False)  # no repr: it may hold credentials, and args that are private
class BuiltRequest:
    """One HTTP request: an absolute, encoded URL, lower-case header names, and the body if there is one."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None

    def with_headers(self, headers: Mapping[str, str]) -> "BuiltRequest":
        """Return the request with more headers, which replace those of the same name."""
        lower = {name.lower(): value for name, value in headers.items()}
        return BuiltRequest(self.method, self.url, {**self.headers, **lower}, self.body)


def build_headers(work: UpstreamCall, config: ConnectionConfig) -> dict[str, str]:
    """Return the headers of one call. All attempts of the call have the same ones."""
    headers = {}
    if work.op.is_write and config.idempotency_header:
        headers[config.idempotency_header] = derive_idempotency_key(work, config)
    if match := _TRACE_ID.fullmatch(work.trace_id):
        headers["traceparent"] = f"00-{match[1]}-{random.getrandbits(64) or 1:016x}-01"
    return headers


def derive_idempotency_key(work: UpstreamCall, config: ConnectionConfig) -> str:
    """Return a UUID that is the same whenever the same caller sends the same key; random for a call without one.

    The caller's own key is not sent: it may say something about the caller, and two callers may choose the same.
    """
    if not work.idempotency_scope:
        return str(uuid.uuid4())
    message = f"upstream-idempotency\0{config.name}\0{work.idempotency_scope}".encode()
    digest = hmac.digest(settings.GATEWAY_KEY_PEPPER.encode(), message, hashlib.sha256)
    return str(uuid.UUID(bytes=digest[:16], version=4))


def sign_subject(subject: str, *, audience: str, key: str) -> str:
    """Return a token that names a subject, valid for a minute at the upstream with the origin `audience`."""
    now = int(time.time())
    claims = {"iss": ISSUER, "sub": subject, "aud": audience, "iat": now, "exp": now + LIFETIME}
    signed = f"{_encode(orjson.dumps({'alg': 'HS256', 'typ': 'JWT'}))}.{_encode(orjson.dumps(claims))}"
    signature = hmac.digest(key.encode(), signed.encode(), "sha256")
    return f"{signed}.{_encode(signature)}"


def _encode(part: bytes) -> str:
    return urlsafe_b64encode(part).rstrip(b"=").decode()


class CredentialsCaller(Protocol):
    """The caller of a request, such as an UpstreamCall, and how long it can wait for their token."""

    @property
    def subject(self) -> str: ...

    @property
    def client_id(self) -> int: ...

    @property
    def deadline(self) -> Deadline: ...


def apply_credentials(request: BuiltRequest, caller: CredentialsCaller, config: ConnectionConfig) -> BuiltRequest:
    """Return the request with the credentials of its connection. Nothing is sent to the upstream.

    Raises InternalError (503 not_configured), PermissionDeniedError (sign_in_required, key_required, subject_required)
    or UpstreamUnreachableError if there is no token.
    """
    if not _has_origin_of(request.url, config.base_url):  # a bug: paths must not choose the host
        raise RuntimeError("A request would leave the origin of its connection.")
    signed = _APPLY[config.auth](request, caller, config)
    for name, place in config.more_keys.items():
        key = connection_secrets.read_secret(config, connection_secrets.MoreKey(name, place))
        signed = _SET_KEY[place](signed, name, key)
    return _apply_subject(signed, caller, config)


def _has_origin_of(url: str, other: str) -> bool:
    """Return whether two URLs have the same origin. Nearly always it is also written the same."""
    return url.split("/", 3)[:3] == other.split("/", 3)[:3] or get_origin(url) == get_origin(other)


def forget(config: ConnectionConfig, work: UpstreamCall) -> None:
    """Mark the token of a connection to be fetched again, or the end user's own key as refused: the answer was 401."""
    if config.auth == Connection.Auth.CLIENT_CREDENTIALS:
        token_endpoint.forget_token(config)
    elif config.auth == Connection.Auth.USER_OAUTH and work.subject:
        user_grants.expire_token(config, work.subject)
    elif end_user_settings.uses_own_keys(config):
        user_keys.mark_refused(
            config, client_id=work.client_id, subject=work.subject, sent_at=work.at, at=timezone.now()
        )


def _apply_nothing(request: BuiltRequest, _: CredentialsCaller, __: ConnectionConfig) -> BuiltRequest:
    return request


def _read_key(caller: CredentialsCaller, config: ConnectionConfig, name: ConnectionSecret.Name) -> EnteredKey:
    """Return the end user's own key if the connection takes these, else its secret."""
    if end_user_settings.uses_own_keys(config):
        return user_keys.read_key(config, client_id=caller.client_id, subject=caller.subject)
    return EnteredKey(connection_secrets.read_secret(config, name), config.username)


def _apply_bearer(request: BuiltRequest, caller: CredentialsCaller, config: ConnectionConfig) -> BuiltRequest:
    token = _read_key(caller, config, ConnectionSecret.Name.TOKEN).secret
    return set_header(request, "Authorization", f"Bearer {token}")


def _apply_basic(request: BuiltRequest, caller: CredentialsCaller, config: ConnectionConfig) -> BuiltRequest:
    password, username = _read_key(caller, config, ConnectionSecret.Name.PASSWORD)
    return set_header(request, "Authorization", token_endpoint.build_basic_header(username, password))


def _apply_api_key(request: BuiltRequest, caller: CredentialsCaller, config: ConnectionConfig) -> BuiltRequest:
    key = _read_key(caller, config, ConnectionSecret.Name.KEY).secret
    return _SET_KEY[config.key_in](request, config.key_name, key)


def _apply_client_credentials(
    request: BuiltRequest, caller: CredentialsCaller, config: ConnectionConfig
) -> BuiltRequest:
    token = token_endpoint.get_token(config, deadline=caller.deadline)
    return set_header(request, "Authorization", f"Bearer {token}")


def _apply_user_grant(request: BuiltRequest, caller: CredentialsCaller, config: ConnectionConfig) -> BuiltRequest:
    token = user_grants.get_access_token(config, subject=caller.subject, deadline=caller.deadline)
    return set_header(request, "Authorization", f"Bearer {token}")


_APPLY: dict[str, Callable[[BuiltRequest, CredentialsCaller, ConnectionConfig], BuiltRequest]] = {
    Connection.Auth.NONE: _apply_nothing,
    Connection.Auth.BEARER: _apply_bearer,
    Connection.Auth.BASIC: _apply_basic,
    Connection.Auth.API_KEY: _apply_api_key,
    Connection.Auth.CLIENT_CREDENTIALS: _apply_client_credentials,
    Connection.Auth.USER_OAUTH: _apply_user_grant,
}


def _apply_subject(request: BuiltRequest, caller: CredentialsCaller, config: ConnectionConfig) -> BuiltRequest:
    """Name the end user. Without one the header is not sent, even if an arg has set it."""
    if config.subject_as == Connection.SubjectAs.NONE:
        return request
    if not caller.subject:
        return replace(request, headers=dict(_iterate_other_headers(request, config.subject_header)))
    if config.subject_as == Connection.SubjectAs.HEADER:
        return set_header(request, config.subject_header, caller.subject)
    key = connection_secrets.read_secret(config, ConnectionSecret.Name.SIGNING_KEY)
    token = sign_subject(caller.subject, audience=get_origin(config.base_url), key=key)
    return set_header(request, config.subject_header, token)


def set_header(request: BuiltRequest, name: str, value: str) -> BuiltRequest:
    """Return the request with a header, which replaces those of the same name in any case."""
    return replace(request, headers={**dict(_iterate_other_headers(request, name)), name: value})


def set_query_parameter(request: BuiltRequest, name: str, value: str) -> BuiltRequest:
    """Return the request with a query parameter, which replaces those of the same name. Others stay as they are."""
    parts = urlsplit(request.url)
    pairs = [each for each in parts.query.split("&") if each and unquote_plus(each.partition("=")[0]) != name]
    query = "&".join([*pairs, f"{quote_plus(name)}={quote_plus(value)}"])
    return replace(request, url=urlunsplit(parts._replace(query=query)))


def set_cookie(request: BuiltRequest, name: str, value: str) -> BuiltRequest:
    """Return the request with a cookie, which replaces those of the same name."""
    lines = [line for header, line in request.headers.items() if header.lower() == "cookie"]
    cookies = [each.strip() for line in lines for each in line.split(";")]
    others = [each for each in cookies if each and each.partition("=")[0].strip() != name]
    return set_header(request, "Cookie", "; ".join([*others, f"{name}={quote(value, safe=_COOKIE_CHARACTERS)}"]))


_SET_KEY: dict[str, Callable[[BuiltRequest, str, str], BuiltRequest]] = {
    Connection.KeyIn.HEADER: set_header,
    Connection.KeyIn.QUERY: set_query_parameter,
    Connection.KeyIn.COOKIE: set_cookie,
}


def _iterate_other_headers(request: BuiltRequest, name: str) -> Iterator[tuple[str, str]]:
    yield from ((each, value) for each, value in request.headers.items() if each.lower() != name.lower())
