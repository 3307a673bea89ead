"""Secrets of connections, sent only to their own origins, and missing settings.

A secret is stored with the origins that it was entered for. Otherwise, somebody who can change the address of a
connection, but does not know its secrets, could have them sent to their own server.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Protocol
from urllib.parse import urlsplit

from django.contrib.admin.utils import label_for_field
from django.core.exceptions import ValidationError
from django.urls import reverse

from core import encryption
from core.encryption import DecryptionFailed
from gateway.contracts.errors import InternalError, UpstreamUnreachableError
from gateway.credentials import end_user_settings
from gateway.models import ConnectionSecret
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection

_PORTS = {"http": 80, "https": 443}
_GETS_TOKENS = (Connection.Auth.CLIENT_CREDENTIALS, Connection.Auth.USER_OAUTH)
REFERENCE = "env:"

# Other variables are not for upstreams: SECRET_KEY must not be sent to one.
_VARIABLE = re.compile(r"UPSTREAM_[A-Z0-9_]{1,100}")
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_MAX_LENGTH = 10_000  # characters
_HEADER_VALUES = (ConnectionSecret.Name.TOKEN, ConnectionSecret.Name.KEY)
_NEEDED: dict[str, ConnectionSecret.Name] = {
    Connection.Auth.BEARER: ConnectionSecret.Name.TOKEN,
    Connection.Auth.BASIC: ConnectionSecret.Name.PASSWORD,
    Connection.Auth.API_KEY: ConnectionSecret.Name.KEY,
    Connection.Auth.CLIENT_CREDENTIALS: ConnectionSecret.Name.CLIENT_SECRET,
}


class MoreKey(str):
    """The name of the secret of one more API key, which a connection calls by the name in its requests."""

    label: str

    def __new__(cls, key_name: str, place: str) -> "MoreKey":
        # As long as the column takes, and the same wherever the key stands in the list.
        digest = hashlib.sha256(f"{place} {key_name}".encode()).hexdigest()
        name = super().__new__(cls, f"key:{digest[:16]}")
        name.label = f"API key {key_name}"
        return name


SecretName = ConnectionSecret.Name | MoreKey


def list_more_keys(keys: Mapping[str, str]) -> dict[str, MoreKey]:
    """Return the name of the secret of each API key, by the key's own name."""
    return {name: MoreKey(name, place) for name, place in keys.items()}


# Public clients have none.
_OPTIONAL: dict[str, ConnectionSecret.Name] = {Connection.Auth.USER_OAUTH: ConnectionSecret.Name.CLIENT_SECRET}

# Columns that a kind of authentication needs: a document does not give their values.
ENTERED_LATER = frozenset(("username", "client_id", "token_url", "authorize_url", "key_name"))


class Addresses(Protocol):
    """The settings of a connection that say where its secrets go."""

    @property
    def base_url(self) -> str: ...
    @property
    def token_url(self) -> str: ...
    @property
    def auth(self) -> str: ...


def get_origin(url: str) -> str:
    """Return scheme://host:port of a URL; empty if it has none."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        return ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{host}:{port}" if host and port else ""


def list_origins(connection: Addresses) -> str:
    """Return the origins of a connection, separated by spaces: its own, and that of its token endpoint.

    Tokens of a token endpoint go to the connection's own origin, so a client secret belongs to both.
    """
    urls = [connection.base_url, *([connection.token_url] if connection.auth in _GETS_TOKENS else [])]
    return " ".join(get_origin(url) for url in urls)


def build_not_configured_error(config: ConnectionConfig, why: str) -> InternalError:
    """Return the error for a connection that an administrator has to configure. `why` is a clause."""
    return InternalError(
        f"The connection {config.name} cannot be used: {why}. Nothing was done; tell the administrator.",
        status=503,
        reason="not_configured",
    )


def build_token_unavailable_error(config: ConnectionConfig, why: str) -> UpstreamUnreachableError:
    """Return the error for a token that cannot be fetched now. `why` is a sentence."""
    return UpstreamUnreachableError(f"No token for the connection {config.name}: {why} Nothing was done; try again.")


class InvalidSecret(ValueError):
    """A secret cannot be stored. The message says why, without the secret."""


def iterate_needed(connection: Connection | ConnectionConfig) -> Iterator[SecretName]:
    """Yield the secrets without which a connection cannot be used. Public OAuth clients have no client secret."""
    if connection.auth in _NEEDED and not end_user_settings.uses_own_keys(connection):
        yield _NEEDED[connection.auth]
    yield from list_more_keys(connection.more_keys).values()
    if connection.subject_as == Connection.SubjectAs.SIGNED_TOKEN:
        yield ConnectionSecret.Name.SIGNING_KEY


def list_used(auth: str, subject_as: str, more_keys: Mapping[str, str] = MappingProxyType({})) -> list[SecretName]:
    """Return the secrets that a kind of authentication and of end users uses, also optional ones."""
    names: list[SecretName] = [table[auth] for table in (_NEEDED, _OPTIONAL) if auth in table]
    names += list_more_keys(more_keys).values()
    return [*names, ConnectionSecret.Name.SIGNING_KEY] if subject_as == Connection.SubjectAs.SIGNED_TOKEN else names


def set_secret(connection: Connection, name: str, secret: str) -> ConnectionSecret:
    """Store a secret, or a reference to a variable, for the connection's current origins. Raises InvalidSecret."""
    check_secret(name, secret)
    row, _ = ConnectionSecret.objects.update_or_create(
        connection=connection,
        name=name,
        defaults={"value": encode_secret(secret), "origin": list_origins(connection)},
    )
    return row


def check_secret(name: str, secret: str, *, may_refer: bool = True) -> None:
    """Raise InvalidSecret for a secret that cannot be stored or sent. `may_refer`: it can name a variable instead."""
    if may_refer and secret.startswith(REFERENCE):
        if not _VARIABLE.fullmatch(secret.removeprefix(REFERENCE)):
            raise InvalidSecret("Send env: and the name of a variable that begins with UPSTREAM_.")
        return
    if not secret or not secret.isprintable() or len(secret) > _MAX_LENGTH:
        raise InvalidSecret(f"Use 1 to {_MAX_LENGTH} characters, without line breaks.")
    if (name in _HEADER_VALUES or name.startswith("key:")) and not _VISIBLE.fullmatch(secret):
        raise InvalidSecret("Use visible ASCII characters only, without spaces.")
    if not encryption.is_configured():
        raise InvalidSecret(str(encryption.EncryptionNotConfigured()))


def encode_secret(secret: str) -> str:
    """Return a secret as it is stored: encrypted, or a reference to a variable as it is."""
    return secret if secret.startswith(REFERENCE) else encryption.encrypt(secret)


def is_bound(secret: ConnectionSecret, connection: Connection | ConnectionConfig) -> bool:
    """Return whether a secret was entered for the connection's current origins."""
    return secret.origin == list_origins(connection)


def read_secret(config: ConnectionConfig, name: SecretName) -> str:
    """Return a secret of a connection. Raises InternalError (503 not_configured) if it is missing or not usable."""
    if secret := read_optional_secret(config, name):
        return secret
    raise build_not_configured_error(config, f"its {name.label} is not set")


def read_optional_secret(config: ConnectionConfig, name: SecretName) -> str:
    """Return a secret of a connection, empty if there is none. Raises InternalError if it is not usable."""
    row = ConnectionSecret.objects.filter(connection__name=config.name, name=name).first()
    if row is None:
        return ""
    if not is_bound(row, config):
        raise build_not_configured_error(config, f"its {name.label} was entered for another address; enter it again")
    if row.value.startswith(REFERENCE):
        return _read_variable(config, row.value.removeprefix(REFERENCE))
    try:
        return encryption.decrypt(row.value)
    except DecryptionFailed:
        raise build_not_configured_error(
            config, f"its {name.label} was encrypted with a key that GATEWAY_ENCRYPTION_KEYS lacks"
        ) from None


def _read_variable(config: ConnectionConfig, name: str) -> str:
    value = os.environ.get(name, "") if _VARIABLE.fullmatch(name) else ""
    if not value or not value.isprintable():
        raise build_not_configured_error(config, f"the variable {name} is not set, or cannot be sent")
    return value


def describe_missing(connection: Connection, *, needs_credentials: bool) -> str:
    """Return a sentence for a terminal, "" if nothing is missing. `needs_credentials`: the document says so."""
    page = reverse("admin:registry_connection_change", args=[connection.pk])
    if connection.auth == Connection.Auth.NONE and not connection.more_keys:
        problem = f"The document asks for credentials, and the connection {connection} sends none."
        return f"{problem} Choose its authentication on {page}." if needs_credentials else ""
    names = [*_iterate_missing_fields(connection), *_iterate_missing_secrets(connection)]
    if not names:
        return ""
    return f"Calls are refused until you complete the connection {connection} on {page}: {', '.join(names)}."


def _iterate_missing_fields(connection: Connection) -> Iterator[str]:
    try:
        connection.clean()
    except ValidationError as error:
        yield from (str(label_for_field(name, Connection)) for name in error.message_dict)


def _iterate_missing_secrets(connection: Connection) -> Iterator[str]:
    rows = {row.name: row for row in connection.secrets.all()}
    for name in iterate_needed(connection):
        if name not in rows or not is_bound(rows[name], connection):
            yield str(name.label)
