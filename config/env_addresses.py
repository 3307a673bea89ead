"""Reading hosts, networks, ports and URLs from environment variables, as `config.env` reads other values."""

import os
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any

from config.addresses import (
    SQLITE,
    find_metadata_address,
    get_host,
    is_broker_url,
    is_host,
    parse_database_url,
    parse_email_url,
    split_url,
)
from config.env import InvalidSetting, quote_value, read_list, read_text

HOSTS = "host names without scheme and port, separated by commas, such as gateway.acme.com,localhost"
ORIGINS = "origins separated by commas, such as https://gateway.acme.com,https://admin.acme.com:8443"
NETWORKS = "networks separated by commas, such as 10.1.0.0/16,fd00:1::/64"
PORTS = "ports separated by commas, such as 80,443"
DATABASES = (
    "postgres://user:password@host:5432/name, with special characters of the password percent-encoded, or to "
    "sqlite:///path/to/file"
)
MAIL_SERVERS = (
    "smtp+tls://user:password@host:587, with special characters of the password percent-encoded, to smtp+ssl:// or "
    "smtp:// likewise, or to consolemail:// to write mails to the log"
)
BROKERS = "redis://host:6379/0 or amqp://user:password@host:5672/"


def read_hosts(name: str, *, default: str) -> list[str]:
    """Return host names, also ones that begin with a dot for all subdomains, or * for all hosts. One is required."""
    hosts = read_list(name, default)
    if not hosts:
        raise InvalidSetting(name, "is not set", HOSTS)
    for host in hosts:
        if host != "*" and not is_host(host.removeprefix(".")):
            raise InvalidSetting(name, f"contains {quote_value(host)}", HOSTS)
    return hosts


def read_origins(name: str) -> list[str]:
    """Return origins: scheme, host and perhaps port, as browsers send them."""
    origins = read_list(name)
    for origin in origins:
        parts = split_url(origin)
        if (
            not parts
            or parts.scheme not in ("http", "https")
            or origin != f"{parts.scheme}://{parts.netloc}"
            or not is_host(get_host(parts).removeprefix("*."))
        ):
            raise InvalidSetting(name, f"contains {quote_value(origin)}", ORIGINS)
    return origins


def read_networks(name: str, *, default: str = "") -> list[IPv4Network | IPv6Network]:
    """Return networks. None of them may hold an address at which a cloud gives away credentials."""
    return [_parse_network(name, text) for text in read_list(name, default)]


def read_ports(name: str, *, default: str) -> list[int]:
    """Return ports. An empty variable means none."""
    ports = [each.strip() for each in os.environ.get(name, default).split(",") if each.strip()]
    for port in ports:
        if not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 65_536):
            raise InvalidSetting(name, f"contains {quote_value(port)}", PORTS)
    return [int(port) for port in ports]


def read_url(name: str, *, example: str, required_for: str = "", is_secure: bool = False) -> str:
    """Return an HTTP URL, or nothing. The sentence does not show it, because it may contain a key.

    `required_for` says what cannot be used without it. With `is_secure`, only https is accepted.
    """
    url = read_text(name)
    if required_for and not url:
        raise InvalidSetting(name, f"is not set, but {required_for} is on", f"a full URL, such as {example}")
    parts = split_url(url)
    if url and not (parts and parts.scheme in ("http", "https") and parts.hostname):
        raise InvalidSetting(name, "is not a full URL", f"one that begins with http:// or https://, such as {example}")
    if url and is_secure and parts and parts.scheme != "https":
        raise InvalidSetting(name, "is not encrypted", f"one that begins with https://, such as {example}")
    return url


def read_database(name: str, *, default: Path | None) -> dict[str, Any]:
    """Return Django's settings of the database at a URL, which may contain a password and is never shown.

    The default is the file of an SQLite database. Without a default, the variable is required.
    """
    url = read_text(name)
    if url:
        if database := parse_database_url(url):
            return database
        raise InvalidSetting(name, "is not a valid URL of PostgreSQL or SQLite", DATABASES)
    if default is None:
        raise InvalidSetting(name, "is not set", f"the database that all processes share: {DATABASES}")
    return {"ENGINE": SQLITE, "NAME": str(default)}


def read_broker_url(name: str) -> str:
    """Return the URL of a broker, several separated by semicolons, or nothing. It may contain a password."""
    url = read_text(name)
    if url and not all(is_broker_url(each) for each in url.split(";")):
        raise InvalidSetting(name, "is not a valid URL of Redis or RabbitMQ", BROKERS)
    return url


def read_email_url(name: str) -> dict[str, Any]:
    """Return Django's settings of the mail server at a URL, which may contain a password; {} without one."""
    url = read_text(name)
    server = parse_email_url(url) if url else {}
    if url and not server:
        raise InvalidSetting(name, "is not a valid URL of a mail server", MAIL_SERVERS)
    return server


def _parse_network(name: str, text: str) -> IPv4Network | IPv6Network:
    try:
        network = ip_network(text)
    except ValueError as error:
        problem = f"contains {quote_value(text)}"
        if "host bits" in str(error):
            problem += ", an address inside a network"
        raise InvalidSetting(name, problem, NETWORKS) from None
    if network.prefixlen == 0:
        raise InvalidSetting(name, f"contains {quote_value(text)}, which is every address", NETWORKS)
    if address := find_metadata_address(network):
        problem = f"contains {quote_value(text)}, which holds the cloud metadata address {address}"
        raise InvalidSetting(name, problem, f"{NETWORKS}, without that address")
    return network
