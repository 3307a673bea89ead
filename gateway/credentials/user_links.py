"""Links to the page of an end user: signed, valid for ten minutes, for one user of one client, and opened once."""

import secrets
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.conf import settings
from django.core import signing

from gateway.models import OpenedLink

MAX_AGE = 600  # seconds that a link is valid, and then the page that it opens
PATH = "/connect/user/"
LINK_SALT = "gateway.user_page.link"
PAGE_SALT = "gateway.user_page.opened"


class LinkRefused(Exception):
    """A link or a page cannot be used. The message is for the end user."""


class EndUser(NamedTuple):
    """An end user of a client, and the connection that they are asked for a key of; empty if none."""

    client_id: int
    subject: str
    connection: str = ""


def build_link(*, client_id: int, subject: str, connection: str = "") -> str:
    """Return the link for an end user; empty if GATEWAY_URL is not set. Two links are never the same."""
    if not settings.GATEWAY_URL:
        return ""
    token = signing.dumps([client_id, subject, connection, secrets.token_urlsafe(9)], salt=LINK_SALT)
    return f"{settings.GATEWAY_URL}{PATH}open?{urlencode({'token': token})}"


def read_link(token: str) -> EndUser:
    """Return whom a link is for. Raises LinkRefused if it is not valid, too old or was opened before."""
    client_id, subject, connection, _ = _load(token, LINK_SALT)
    if OpenedLink.objects.filter(digest=_digest(token)).exists():
        raise LinkRefused("This link was already opened.")
    return EndUser(client_id, subject, connection)


def open_link(token: str, *, at: datetime) -> str:
    """Use up a link, and return what the browser shows with each request to the page. Raises LinkRefused."""
    user = read_link(token)
    _, is_first = OpenedLink.objects.get_or_create(digest=_digest(token), defaults={"opened_at": at})
    if not is_first:  # by another request at the same moment
        raise LinkRefused("This link was already opened.")
    return signing.dumps([*user], salt=PAGE_SALT)


def read_page_token(token: str) -> EndUser:
    """Return whose page a browser has opened. Raises LinkRefused."""
    return EndUser(*_load(token, PAGE_SALT))


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def _load(token: str, salt: str) -> list[Any]:
    try:
        values: list[Any] = signing.loads(token, salt=salt, max_age=MAX_AGE)
    except signing.SignatureExpired:
        raise LinkRefused("This link is too old.") from None
    except signing.BadSignature:
        raise LinkRefused("This link is not valid.") from None
    return values
