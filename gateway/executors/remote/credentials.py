"""Adds a connection's credentials, and the end user if it wants to know them, to a request.

What it adds replaces what the args of a call put in the same place: no arg can pass for a credential or for another
end user.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol
from urllib.parse import quote, quote_plus, unquote_plus, urlsplit, urlunsplit

from core.database.deadlines import Deadline
from gateway.credentials import client_credentials, connection_secrets, subject_token, token_endpoint, user_grants
from gateway.credentials.origins import get_origin
from gateway.executors.remote.built_request import BuiltRequest
from gateway.models import ConnectionSecret
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection


class CredentialsCaller(Protocol):
    """For whom a request is sent, such as an UpstreamCall, and until when it may wait for their token."""

    @property
    def subject(self) -> str: ...

    @property
    def deadline(self) -> Deadline: ...


_COOKIE_CHARACTERS = "!#$%&'()*+-./:<=>?@[]^_`{|}~"  # of a value (RFC 6265), besides letters and digits


def apply_credentials(request: BuiltRequest, caller: CredentialsCaller, config: ConnectionConfig) -> BuiltRequest:
    """Return the request with the credentials of its connection. Nothing is sent to the upstream.

    Raises InternalError (503 not_configured), PermissionDeniedError (sign_in_required, subject_required) or
    UpstreamUnreachableError if there is no token.
    """
    if get_origin(request.url) != get_origin(config.base_url):  # a bug: paths must not choose the host
        raise RuntimeError("A request would leave the origin of its connection.")
    return _apply_subject(_APPLY[config.auth](request, caller, config), caller, config)


def forget(config: ConnectionConfig, subject: str = "") -> None:
    """Have the token of a connection fetched anew before its next use: the upstream answered 401.

    `subject` is the end user of the call, whose token it was if end users sign in.
    """
    if config.auth == Connection.Auth.CLIENT_CREDENTIALS:
        client_credentials.forget_token(config)
    elif config.auth == Connection.Auth.USER_OAUTH and subject:
        user_grants.expire_token(config, subject)


def _apply_nothing(request: BuiltRequest, _: CredentialsCaller, __: ConnectionConfig) -> BuiltRequest:
    return request


def _apply_bearer(request: BuiltRequest, _: CredentialsCaller, config: ConnectionConfig) -> BuiltRequest:
    token = connection_secrets.read_secret(config, ConnectionSecret.Name.TOKEN)
    return set_header(request, "Authorization", f"Bearer {token}")


def _apply_basic(request: BuiltRequest, _: CredentialsCaller, config: ConnectionConfig) -> BuiltRequest:
    password = connection_secrets.read_secret(config, ConnectionSecret.Name.PASSWORD)
    return set_header(request, "Authorization", token_endpoint.build_basic_header(config.username, password))


def _apply_api_key(request: BuiltRequest, _: CredentialsCaller, config: ConnectionConfig) -> BuiltRequest:
    key = connection_secrets.read_secret(config, ConnectionSecret.Name.KEY)
    set_key = {Connection.KeyIn.QUERY: set_query_parameter, Connection.KeyIn.COOKIE: set_cookie}
    return set_key.get(Connection.KeyIn(config.key_in), set_header)(request, config.key_name, key)


def _apply_client_credentials(
    request: BuiltRequest, caller: CredentialsCaller, config: ConnectionConfig
) -> BuiltRequest:
    token = client_credentials.get_token(config, deadline=caller.deadline)
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
    token = subject_token.sign_subject(caller.subject, audience=get_origin(config.base_url), key=key)
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


def _iterate_other_headers(request: BuiltRequest, name: str) -> Iterator[tuple[str, str]]:
    yield from ((each, value) for each, value in request.headers.items() if each.lower() != name.lower())
