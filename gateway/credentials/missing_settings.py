"""What a connection lacks before its calls can succeed, and the page where it is entered."""

from collections.abc import Iterator

from django.contrib.admin.utils import label_for_field
from django.core.exceptions import ValidationError
from django.urls import reverse

from gateway.credentials import connection_secrets
from registry.models import Connection

# Columns that belong to a kind of authentication: a document does not say what they are.
ENTERED_LATER = frozenset(("username", "client_id", "token_url", "authorize_url", "key_name"))


def describe_missing(connection: Connection, *, needs_credentials: bool) -> str:
    """Return a sentence for a terminal, "" if nothing is missing. `needs_credentials`: the document says so."""
    page = reverse("admin:registry_connection_change", args=[connection.pk])
    if connection.auth == Connection.Auth.NONE:
        problem = f"The document asks for credentials, and the connection {connection} sends none."
        return f"{problem} Choose its authentication on {page}." if needs_credentials else ""
    names = [*_iterate_missing_fields(connection), *_iterate_missing_secrets(connection)]
    if not names:
        return ""
    return f"Calls are refused until you enter what the connection {connection} lacks on {page}: {', '.join(names)}."


def _iterate_missing_fields(connection: Connection) -> Iterator[str]:
    try:
        connection.clean()
    except ValidationError as error:
        yield from (str(label_for_field(name, Connection)) for name in error.message_dict)


def _iterate_missing_secrets(connection: Connection) -> Iterator[str]:
    rows = {row.name: row for row in connection.secrets.all()}
    for name in connection_secrets.iterate_needed(connection):
        if name not in rows or not connection_secrets.is_bound(rows[name], connection):
            yield name.label
