"""The WSGI environment of an RSGI request (PEP 3333), and the client's address behind proxies."""

import sys
from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpRequest

if TYPE_CHECKING:
    from granian.rsgi import Scope

Environ = dict[str, Any]

# A key of the environment: the names (as in the environment) of headers that the request has more than once.
REPEATED_HEADERS = "server.repeated_headers"

# A key of the environment: why the body is missing, if the server did not read it (a BodyProblem).
BODY_PROBLEM = "server.body_problem"
_PLAIN_NAMES = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}

# The process's variables, which CGI includes, are not in it: HTTP_PROXY would pass for a header.
_COMMON: Environ = {
    "SCRIPT_NAME": "",
    "SERVER_NAME": "no-host-header.invalid",  # Django would take an address for the Host header if that is missing
    "SERVER_SOFTWARE": "granian",
    "wsgi.errors": sys.stderr,
    "wsgi.multiprocess": True,
    "wsgi.multithread": True,
    "wsgi.run_once": False,
    "wsgi.version": (1, 0),
}
IPV6_PREFIX = 64  # bits; one customer has at least such a network, and can use every address in it


class BodyProblem(StrEnum):
    """Why the server did not read a body."""

    TOO_SLOW = "too_slow"
    TOO_LARGE = "too_large"


def build_environ(scope: "Scope") -> Environ:
    """Return the environment of a request, without its body.

    Values of a repeated header are joined, as HTTP defines, and the header is listed under REPEATED_HEADERS. A value
    beyond ASCII is empty. Headers with an underscore are left out: they would pass for those with a hyphen.
    """
    environ: Environ = _COMMON | {
        "REQUEST_METHOD": scope.method,
        "PATH_INFO": scope.path.encode().decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "REMOTE_ADDR": scope.client.rpartition(":")[0].strip("[]"),
        "SERVER_PORT": scope.server.rpartition(":")[2],
        "SERVER_PROTOCOL": "HTTP/" + scope.http_version,
        "wsgi.url_scheme": scope.scheme,
    }
    for header, value in scope.headers.items():
        name = _convert_name(header)
        if name is None:
            continue
        if name in environ:
            value = environ[name] + ("; " if name == "HTTP_COOKIE" else ",") + value
            environ[REPEATED_HEADERS] = (*environ.get(REPEATED_HEADERS, ()), name)
        environ[name] = value
    for header in scope.headers.keys():  # noqa: SIM118 - not a dictionary: values beyond ASCII are not in items()
        if (name := _convert_name(header)) is not None:
            environ.setdefault(name, "")
    if scope.authority and "HTTP_HOST" not in environ:
        environ["HTTP_HOST"] = scope.authority
    return environ


@lru_cache(maxsize=500)
def _convert_name(header: str) -> str | None:
    """Return a header's name in the environment, or None if it is left out."""
    if "_" in header:
        return None
    return _PLAIN_NAMES.get(header) or "HTTP_" + header.upper().replace("-", "_")


def read_client_address(meta: Mapping[str, Any]) -> IPv4Address | IPv6Address | None:
    """Return the client's address from a WSGI environment, or None if the server listens on a socket without addresses.

    Each proxy appends the address that it was called from to X-Forwarded-For. The client can send anything in the
    entries before those of our proxies, so they are never read.
    """
    forwarded = meta.get("HTTP_X_FORWARDED_FOR", "").split(",")
    trusted = forwarded[-settings.GATEWAY_PROXY_COUNT :] if settings.GATEWAY_PROXY_COUNT else []
    addresses = map(_parse_address, [*trusted, meta.get("REMOTE_ADDR", "")])
    return next((address for address in addresses if address), None)


def read_limited_address(meta: Mapping[str, Any]) -> str | None:
    """Return the address that limits count: the client's, or the first one of its network for IPv6."""
    address = read_client_address(meta)
    if isinstance(address, IPv6Address):
        return str(ip_network((address, IPV6_PREFIX), strict=False).network_address)
    return str(address) if address else None


def get_axes_address(request: HttpRequest) -> str | None:
    """Return the address that limits of sign-ins count (AXES_CLIENT_IP_CALLABLE)."""
    return read_limited_address(request.META)


@lru_cache(maxsize=1_000)
def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address, which a proxy may have written with its port: 192.0.2.7:5000, [2001:db8::7]:5000."""
    host = text.strip()
    if host.startswith("["):
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
