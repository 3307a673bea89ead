"""Hosts, networks and URLs in settings: which ones are valid, and their parts."""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any
from urllib.parse import SplitResult, urlsplit

import environ

from core.cloud_metadata import METADATA_ADDRESSES

POSTGRES: str = environ.Env.DB_SCHEMES["postgres"]  # the engines in Django's settings
SQLITE: str = environ.Env.DB_SCHEMES["sqlite"]
BROKER_SCHEMES = ("redis", "rediss", "redis+socket", "sentinel", "amqp", "amqps", "pyamqp", "memory")

MAIL_SCHEMES = ("smtp", "smtp+tls", "smtp+ssl", "consolemail")

_HOST_NAME = re.compile(r"[a-z0-9.-]+")
# How an IPv6 network contains an IPv4 address: mapped by the operating system, or translated by a gateway (NAT64).
_IPV4_PREFIXES = (int(IPv6Address("::ffff:0:0")), int(IPv6Address("64:ff9b::")))


def is_host(text: str) -> bool:
    """Return whether a text is a name, an IPv4 address or an IPv6 address in brackets, as in a Host header."""
    if text.startswith("[") and text.endswith("]"):
        try:
            IPv6Address(text[1:-1])
        except ValueError:
            return False
        return True
    return bool(_HOST_NAME.fullmatch(text.lower()))


def split_url(text: str) -> SplitResult | None:
    """Return the parts of a URL, or None if it has white space, an invalid host or an invalid port."""
    if not text.isprintable() or " " in text:
        return None
    try:
        parts = urlsplit(text)
        return parts if parts.port is None or parts.port > 0 else None
    except ValueError:
        return None


def get_host(parts: SplitResult) -> str:
    """Return the host as written, without the port."""
    return parts.netloc if parts.port is None else parts.netloc.rpartition(":")[0]


def find_metadata_address(network: IPv4Network | IPv6Network) -> IPv4Address | IPv6Address | None:
    """Return an address in the network at which a cloud gives away credentials, if there is one."""
    return next((each for each in METADATA_ADDRESSES if _holds_address(network, each)), None)


def parse_database_url(url: str) -> dict[str, Any] | None:
    """Return Django's settings of a database on PostgreSQL or SQLite, or None if the URL is invalid."""
    scheme, _, rest = url.partition("://")
    engine = environ.Env.DB_SCHEMES.get(scheme.lower())
    if engine not in (POSTGRES, SQLITE):
        return None
    if engine == SQLITE and not rest.startswith("/") and rest != ":memory:":
        return None  # the first folder of the path would be read as a host and ignored
    try:
        database: dict[str, Any] = environ.Env.db_url_config(url)
    except ValueError:
        return None
    if engine == SQLITE:
        return database
    # An @ in the name is the end of a password that contains a slash.
    has_name = database["NAME"] or "service" in database.get("OPTIONS", {})
    return database if has_name and "@" not in database["NAME"] else None


def is_broker_url(url: str) -> bool:
    """Return whether Celery can connect to a URL with the libraries that we install."""
    parts = split_url(url)
    if not parts or parts.scheme not in BROKER_SCHEMES or "@" in parts.path + parts.fragment:
        return False
    if parts.scheme in ("redis", "rediss") and not (parts.path.strip("/") or "0").isdecimal():
        return False  # the number of a database
    return bool(parts.hostname) or parts.scheme == "memory" or (parts.scheme == "redis+socket" and parts.path != "")


def _holds_address(network: IPv4Network | IPv6Network, address: IPv4Address | IPv6Address) -> bool:
    if address in network:
        return True
    return address.version == 4 and any(IPv6Address(each | int(address)) in network for each in _IPV4_PREFIXES)


def parse_email_url(url: str) -> dict[str, Any]:
    """Return Django's settings of a mail server, or of mails in the log; {} if the URL is invalid."""
    parts = split_url(url)
    if parts is None or parts.scheme not in MAIL_SCHEMES or (parts.scheme != "consolemail" and not parts.hostname):
        return {}
    try:
        server: dict[str, Any] = environ.Env.email_url_config(url)
    except (ValueError, environ.ImproperlyConfigured):
        return {}
    return server
