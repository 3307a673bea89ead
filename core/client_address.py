"""The address of a request's client, behind the reverse proxies that GATEWAY_PROXY_COUNT says there are."""

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from django.conf import settings
from django.http import HttpRequest

IPV6_PREFIX = 64  # bits; one customer has at least such a network, and can use every address in it


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
