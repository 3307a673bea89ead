"""Protect against SSRF: allow public addresses on standard ports, and networks that an administrator allowed.

See docs/adr/0008.
"""

import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from django.conf import settings

from core.http.errors import AddressRefused, TimedOut

Networks = tuple[IPv4Network | IPv6Network, ...]

# Not public, whatever `is_global` says: Python 3.11 to 3.13 disagree on several of these and do not know others.
NOT_PUBLIC = tuple(
    ip_network(network)
    for network in (
        "100.64.0.0/10",  # carrier-grade NAT (RFC 6598); a cloud's metadata at 100.100.100.200
        "168.63.129.16/32",  # Azure's host agent, reachable from virtual machines only
        "192.0.0.0/24",  # IETF assignments (RFC 6890); a cloud's metadata at 192.0.0.192
        "192.88.99.0/24",  # 6to4 relays (RFC 7526)
        "198.18.0.0/15",  # benchmarks (RFC 2544)
        "224.0.0.0/3",  # multicast, reserved, broadcast
        # IPv6 outside of 2000::/3 is not global unicast: unspecified, loopback, IPv4-mapped and -compatible, NAT64
        # (64:ff9b::/96, 64:ff9b:1::/48), discard, unique local, link-local, site-local, multicast.
        "::/3",
        "4000::/2",
        "8000::/1",
        "2001::/23",  # IETF assignments (RFC 2928): Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which embeds an IPv4 address
        "3fff::/20",  # documentation (RFC 9637)
    )
)


@dataclass(frozen=True, slots=True)
class Address:
    """One resolved address, in the form that `socket.connect` takes."""

    family: socket.AddressFamily
    target: tuple[Any, ...]  # (address, port), plus flow info and scope id for IPv6


def resolve_allowed_addresses(host: str, port: int, *, seconds: float, allow: Networks | None = None) -> list[Address]:
    """Resolve a host once and return its addresses in the resolver's order. Raises AddressRefused or TimedOut.

    `allow` are networks that may be called although they are not public; the default is GATEWAY_OUTGOING_ALLOW.
    A single address that is not allowed refuses the host: a name with a public and a private address is either
    misconfigured or an attempt to make us pick the private one.
    """
    addresses = _resolve_with_timeout(host, port, seconds)
    if not addresses or not all(is_allowed(address.target[0], port, allow=allow) for address in addresses):
        raise AddressRefused
    return addresses


def is_allowed(address: str, port: int, *, allow: Networks | None = None) -> bool:
    """Return whether an address is in an allowed network (any port), or public and on a standard port."""
    ip = ip_address(address)
    if any(ip in network for network in (settings.GATEWAY_OUTGOING_ALLOW if allow is None else allow)):
        return True
    return port in settings.GATEWAY_OUTGOING_PORTS and is_public(ip)


def get_upstream_networks() -> Networks:
    """Return the non-public networks that calls to connections may reach. Administrators choose their URLs."""
    return (*settings.GATEWAY_OUTGOING_ALLOW, *settings.GATEWAY_UPSTREAM_ALLOW)


def is_public(ip: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is a unicast address of the public Internet."""
    return ip.is_global and not any(ip in network for network in NOT_PUBLIC)


def _resolve_with_timeout(host: str, port: int, seconds: float) -> list[Address]:
    # getaddrinfo has no timeout, so it runs in a thread. The thread is a daemon and ends when the resolver gives up.
    # In a thread pool, a few slow names would delay all others.
    results: SimpleQueue[list[Address]] = SimpleQueue()
    Thread(target=lambda: results.put(_resolve(host, port)), name="resolver", daemon=True).start()
    try:
        return results.get(timeout=seconds)
    except Empty:
        raise TimedOut from None


def _resolve(host: str, port: int) -> list[Address]:
    try:  # bytes skip Python's IDNA encoding; the URL is IDNA-encoded already
        results = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return []
    return [Address(family, target) for family, _, _, _, target in results]
