"""End users' own keys for a service: entered on a page of ours, encrypted, and used for their own calls only."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import QuerySet

from audit import audit_log
from audit.models import AuditEntry
from core import encryption
from core.encryption import DecryptionFailed
from gateway.contracts.errors import PermissionDeniedError
from gateway.credentials import user_links
from gateway.credentials.connection_secrets import build_not_configured_error, check_secret, list_origins
from gateway.models import ConnectionSecret, UserKey
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection

AUDIT_KIND = "user_key"

# What a user enters, by the kind of authentication.
SECRET_NAMES: Mapping[str, ConnectionSecret.Name] = {
    Connection.Auth.BEARER: ConnectionSecret.Name.TOKEN,
    Connection.Auth.BASIC: ConnectionSecret.Name.PASSWORD,
    Connection.Auth.API_KEY: ConnectionSecret.Name.KEY,
}


class EnteredKey(NamedTuple):
    """A key as its user entered it. `username` is empty unless the service takes a user name with a password."""

    secret: str
    username: str = ""


class UserKeyNotFound(Exception):
    """The user has no such key."""


def read_key(config: ConnectionConfig, *, client_id: int, subject: str) -> EnteredKey:
    """Return the key of an end user.

    Raises PermissionDeniedError (subject_required, or key_required with a link), or InternalError (503 not_configured).
    """
    if not subject or not client_id:
        raise PermissionDeniedError(
            f"The connection {config.name} is used with a key of the end user. Send their id in Gateway-Subject.",
            reason="subject_required",
        )
    row = _find_keys(config, client_id, subject).first()
    if row is None or row.origin != list_origins(config):
        raise _build_required_error(config, client_id, subject)
    if row.refused_at is not None:
        raise _build_required_error(config, client_id, subject, was_refused=True)
    try:
        return EnteredKey(encryption.decrypt(row.secret), encryption.decrypt(row.username) if row.username else "")
    except DecryptionFailed:
        why = "the key of this user was encrypted with a key that GATEWAY_ENCRYPTION_KEYS lacks"
        raise build_not_configured_error(config, why) from None


def mark_refused(config: ConnectionConfig, *, client_id: int, subject: str, sent_at: datetime, at: datetime) -> None:
    """Note that the service refused a key, so that it is not sent again. A key entered after the call stays valid."""
    keys = _find_keys(config, client_id, subject).filter(entered_at__lte=sent_at, refused_at=None)
    keys.update(refused_at=at)


def store_key(connection: Connection, *, client_id: int, subject: str, key: EnteredKey, at: datetime) -> None:
    """Store a key of an end user for the connection's current origins. It replaces an earlier one.

    Raises InvalidSecret. A reference to a variable is a text like any other: only admins can use variables.
    """
    check_entered_key(connection, key)
    values = {
        "username": encryption.encrypt(key.username) if key.username else "",
        "secret": encryption.encrypt(key.secret),
        "origin": list_origins(connection),
        "entered_at": at,
        "refused_at": None,
    }
    with transaction.atomic():
        row, is_new = UserKey.objects.update_or_create(
            connection=connection, client_id=client_id, subject=subject, defaults=values
        )
        _record(row, AuditEntry.Action.ADDED if is_new else AuditEntry.Action.CHANGED, at=at)


def delete_key(connection_name: str, *, client_id: int, subject: str, at: datetime) -> None:
    """Delete a key of an end user. Raises UserKeyNotFound."""
    with transaction.atomic():
        row = _find_rows(client_id, subject).filter(connection__name=connection_name).first()
        if row is None:
            raise UserKeyNotFound
        _record(row, AuditEntry.Action.REMOVED, at=at)
        row.delete()


def list_keys(*, client_id: int, subject: str) -> list[UserKey]:
    """Return the keys of an end user, by the name of the connection."""
    return list(_find_rows(client_id, subject).order_by("connection__name"))


def get_audit_actor(subject: str) -> str:
    """Return an end user as the author of an audit entry. No account can have this name: it has a space."""
    return f"end user {subject}"[:150]


def check_entered_key(connection: Connection, key: EnteredKey) -> None:
    """Raise InvalidSecret for a key that cannot be stored or sent. Its message is for the user."""
    if connection.auth == Connection.Auth.BASIC:
        check_secret(ConnectionSecret.Name.PASSWORD, key.username, may_refer=False)
    check_secret(SECRET_NAMES[connection.auth], key.secret, may_refer=False)


def record_deletion(row: UserKey, *, by: str, at: datetime) -> None:
    """Record that somebody else than its user deletes a key."""
    changes = {"client": [str(row.client), None], "subject": [row.subject, None]}
    audit_log.record_action(AUDIT_KIND, row.connection.name, AuditEntry.Action.REMOVED, by=by, at=at, changes=changes)


def _record(row: UserKey, action: AuditEntry.Action, *, at: datetime) -> None:
    changes = {"client": [None, str(row.client)]}
    by = get_audit_actor(row.subject)
    audit_log.record_action(AUDIT_KIND, row.connection.name, action, by=by, at=at, changes=changes)


def _find_rows(client_id: int, subject: str) -> QuerySet[UserKey]:
    return UserKey.objects.filter(client_id=client_id, subject=subject).select_related("connection", "client")


def _find_keys(config: ConnectionConfig, client_id: int, subject: str) -> QuerySet[UserKey]:
    return UserKey.objects.filter(connection__name=config.name, client_id=client_id, subject=subject)


def _build_required_error(
    config: ConnectionConfig, client_id: int, subject: str, *, was_refused: bool = False
) -> PermissionDeniedError:
    if not encryption.is_configured():
        raise build_not_configured_error(config, "end users enter keys for it, and GATEWAY_ENCRYPTION_KEYS is not set")
    url = user_links.build_link(client_id=client_id, subject=subject, connection=config.name)
    if not url:
        raise build_not_configured_error(config, "end users enter keys for it, and GATEWAY_URL is not set")
    error = PermissionDeniedError(
        f"The end user must enter a key for {config.name} first; nothing was done. Give them the link in "
        "requires_user_action, which opens once within 10 minutes, and send the call again when they have entered it.",
        reason="key_required",
        details={
            "requires_user_action": {"type": "enter_key", "url": url},
            "how_to_connect": (
                (
                    f"{config.name} refused your key. Enter another one"
                    if was_refused
                    else f"Enter your own key for {config.name}"
                )
                + ", then send your message again. The link opens once, within 10 minutes."
            ),
        },
    )
    error.is_final = False  # with another key the same call may succeed
    return error
