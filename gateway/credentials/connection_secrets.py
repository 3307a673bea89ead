"""Secrets of connections: written by administrators, read only to send them to the connection's own origins."""

import os
import re
from collections.abc import Iterator

from core import encryption
from core.encryption import DecryptionFailed
from gateway.credentials.errors import build_not_configured_error
from gateway.credentials.origins import list_origins
from gateway.models import ConnectionSecret
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection

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


# Public clients have none.
_OPTIONAL: dict[str, ConnectionSecret.Name] = {Connection.Auth.USER_OAUTH: ConnectionSecret.Name.CLIENT_SECRET}


class InvalidSecret(ValueError):
    """A secret cannot be stored. The message says why, without the secret."""


def iterate_needed(connection: Connection | ConnectionConfig) -> Iterator[ConnectionSecret.Name]:
    """Yield the secrets without which a connection cannot be used. Public OAuth clients have no client secret."""
    if connection.auth in _NEEDED:
        yield _NEEDED[connection.auth]
    if connection.subject_as == Connection.SubjectAs.SIGNED_TOKEN:
        yield ConnectionSecret.Name.SIGNING_KEY


def list_used(auth: str, subject_as: str) -> list[ConnectionSecret.Name]:
    """Return the secrets that a kind of authentication and of end users uses, also optional ones."""
    names = [table[auth] for table in (_NEEDED, _OPTIONAL) if auth in table]
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


def check_secret(name: str, secret: str) -> None:
    """Raise InvalidSecret for a secret that cannot be stored or sent."""
    if secret.startswith(REFERENCE):
        if not _VARIABLE.fullmatch(secret.removeprefix(REFERENCE)):
            raise InvalidSecret("Send env: and the name of a variable that begins with UPSTREAM_.")
        return
    if not secret or not secret.isprintable() or len(secret) > _MAX_LENGTH:
        raise InvalidSecret(f"Send 1 to {_MAX_LENGTH} characters, without line breaks.")
    if name in _HEADER_VALUES and not _VISIBLE.fullmatch(secret):
        raise InvalidSecret("Send visible ASCII characters only, without spaces.")
    if not encryption.is_configured():
        raise InvalidSecret(str(encryption.EncryptionNotConfigured()))


def encode_secret(secret: str) -> str:
    """Return a secret as it is stored: encrypted, or a reference to a variable as it is."""
    return secret if secret.startswith(REFERENCE) else encryption.encrypt(secret)


def is_bound(secret: ConnectionSecret, connection: Connection | ConnectionConfig) -> bool:
    """Return whether a secret was entered for the connection's current origins."""
    return secret.origin == list_origins(connection)


def read_secret(config: ConnectionConfig, name: ConnectionSecret.Name) -> str:
    """Return a secret of a connection. Raises InternalError (503 not_configured) if it is missing or not usable."""
    if secret := read_optional_secret(config, name):
        return secret
    raise build_not_configured_error(config, f"its {name.label} is not set")


def read_optional_secret(config: ConnectionConfig, name: ConnectionSecret.Name) -> str:
    """Return a secret of a connection, empty if there is none. Raises InternalError if it is not usable."""
    row = ConnectionSecret.objects.filter(connection__name=config.name, name=name).first()
    if row is None:
        return ""
    if not is_bound(row, config):
        raise build_not_configured_error(
            config, f"its {name.label} was entered for another address and has to be entered again"
        )
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
