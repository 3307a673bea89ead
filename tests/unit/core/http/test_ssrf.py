"""Which addresses may be called: a table of examples, properties of any address, and connections to no others."""

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from threading import Event
from unittest.mock import Mock

import pytest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from core.cloud_metadata import METADATA_ADDRESSES
from core.http import AddressRefused, BadUrl, Response, TimedOut, Unreachable, ssrf
from tests.support.loops import for_each
from tests.support.upstreams.fake_resolver import FakeResolver
from tests.support.upstreams.http_servers import Server

PUBLIC = [
    "1.1.1.1",
    "93.184.216.34",
    "100.63.255.255",  # just below carrier-grade NAT
    "100.128.0.0",  # just above
    "172.15.255.255",
    "192.167.255.255",
    "198.17.255.255",
    "2606:4700:4700::1111",
    "2001:200::1",  # just above the IETF's 2001::/23
    "2003::1",  # just above 6to4
]

REFUSED = {
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "loopback": ["127.0.0.1", "127.1.2.3", "127.255.255.255", "::1"],
    "private": ["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "fc00::1", "fd00::1"],
    "link-local": ["169.254.0.1", "fe80::1", "fe80::1%1"],
    "metadata": [str(address) for address in METADATA_ADDRESSES],
    "carrier-grade NAT": ["100.64.0.0", "100.64.0.1", "100.127.255.255"],
    "NAT64": ["64:ff9b::a00:1", "64:ff9b::808:808", "64:ff9b:1::1", "64:ff9b:1:ffff::a00:1"],
    "6to4": ["2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1", "192.88.99.1"],
    "Teredo": ["2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"],
    "site-local": ["fec0::1", "feff::1"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    "reserved": ["240.0.0.1", "255.255.255.254", "192.0.0.8", "100::1", "5f00::1", "4000::1", "1::1", "e000::1"],
    "broadcast": ["255.255.255.255"],
    "benchmark": ["198.18.0.1", "198.19.255.255", "2001:2::1"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "IPv4-mapped": ["::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8"],
    "IPv4-compatible": ["::127.0.0.1", "::8.8.8.8"],
}

# Networks that must be refused, independent of the standard library.
_SPECIAL = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 "
    "192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 "
    "168.63.129.16/32 ::/96 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/32 2001:2::/48 2001:10::/28 "
    "2001:20::/28 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8"
)
SPECIAL = [ip_network(network) for network in _SPECIAL.split()]
GLOBAL_UNICAST = ip_network("2000::/3")

any_ipv4 = st.ip_addresses(v=4)
any_address = (
    any_ipv4
    | st.ip_addresses(v=6)
    | st.ip_addresses(v=6, network=GLOBAL_UNICAST)
    | st.sampled_from(SPECIAL).flatmap(lambda network: st.ip_addresses(network=network))
)


@for_each(
    "kind, address, public",
    [
        *(("public", each, True) for each in PUBLIC),
        *((kind, each, False) for kind, addresses in REFUSED.items() for each in addresses),
    ],
)
def test_is_public_accepts_public_and_refuses_special_addresses(kind: str, address: str, public: bool) -> None:
    assert ssrf.is_public(ip_address(address)) is public


@given(any_address)
def test_is_public_means_global_and_in_no_special_network(ip: IPv4Address | IPv6Address) -> None:
    special = any(ip in network for network in SPECIAL)
    assigned = ip.version == 4 or (ip in GLOBAL_UNICAST and ip not in ip_network("2001::/23"))

    assert ssrf.is_public(ip) == (ip.is_global and assigned and not special)


@given(any_ipv4)
def test_is_public_refuses_ipv6_addresses_that_embed_ipv4(ip: IPv4Address) -> None:
    embedded = int(ip)
    embeddings = [
        IPv6Address(embedded),  # IPv4-compatible
        IPv6Address(0xFFFF << 32 | embedded),  # IPv4-mapped
        IPv6Address(int(IPv6Address("64:ff9b::")) | embedded),  # NAT64
        IPv6Address(int(IPv6Address("64:ff9b:1::")) | embedded),
        IPv6Address(0x2002 << 112 | embedded << 80 | 1),  # 6to4
        IPv6Address(0x20010000 << 96 | (embedded ^ 0xFFFFFFFF)),  # Teredo
    ]

    assert [str(each) for each in embeddings if ssrf.is_public(each)] == []


@given(any_address)
def test_is_allowed_permits_an_allowed_network_on_any_port(ip: IPv4Address | IPv6Address) -> None:
    with override_settings(GATEWAY_OUTGOING_ALLOW=[ip_network(ip)], GATEWAY_OUTGOING_PORTS=[443]):
        assert ssrf.is_allowed(str(ip), 9999)

        assert not ssrf.is_allowed(str(ip + 1 if int(ip) == 0 else ip - 1), 9999)


def test_is_allowed_permits_public_hosts_on_configured_ports_only(settings: Settings) -> None:
    assert [port for port in (22, 25, 80, 443, 6379, 8443) if ssrf.is_allowed("1.1.1.1", port)] == [80, 443]

    settings.GATEWAY_OUTGOING_PORTS = [8443]
    assert [port for port in (80, 443, 8443) if ssrf.is_allowed("1.1.1.1", port)] == [8443]


def test_is_allowed_refuses_a_mapped_form_of_an_allowed_address(loopback_allowed: None) -> None:
    assert ssrf.is_allowed("127.0.0.1", 80)
    assert not ssrf.is_allowed("::ffff:127.0.0.1", 80)


def test_resolve_returns_all_addresses_in_order(resolver: FakeResolver) -> None:
    resolver.names["a.test"] = [["2606:4700:4700::1111", "1.1.1.1"]]

    addresses = ssrf.resolve_allowed_addresses("a.test", 443, seconds=1)

    assert [(address.family, address.target[:2]) for address in addresses] == [
        (socket.AF_INET6, ("2606:4700:4700::1111", 443)),
        (socket.AF_INET, ("1.1.1.1", 443)),
    ]


@pytest.mark.parametrize("addresses", [["1.1.1.1", "10.0.0.1"], ["::1", "1.1.1.1"], ["127.0.0.1"], []])
def test_resolve_refuses_a_name_with_any_refused_address(resolver: FakeResolver, addresses: list[str]) -> None:
    resolver.names["a.test"] = [addresses]

    with pytest.raises(AddressRefused):
        ssrf.resolve_allowed_addresses("a.test", 443, seconds=1)


@pytest.mark.parametrize("host", ["a" * 64 + ".test", "a..test", ".", "a" * 300, "a%00.test", "[", "a b"])
def test_resolve_refuses_an_invalid_name(host: str) -> None:
    with pytest.raises(AddressRefused):
        ssrf.resolve_allowed_addresses(host, 443, seconds=2)


def test_resolve_stops_waiting_for_a_slow_resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    wake_up = Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: wake_up.wait(5) and [])

    with pytest.raises(TimedOut):
        ssrf.resolve_allowed_addresses("slow.test", 443, seconds=0.05)
    assert not wake_up.is_set()
    wake_up.set()


def test_refused_and_unknown_names_have_the_same_error(resolver: FakeResolver, call: Callable[..., Response]) -> None:
    resolver.names |= {"inside.test": [["10.1.2.3"]], "nowhere.test": [[]], "odd-port.test": [["1.1.1.1"]]}
    errors = set()

    for host in ("inside.test", "nowhere.test", "odd-port.test:25", "169.254.169.254"):
        with pytest.raises(AddressRefused) as error:
            call(f"http://{host}/secret-path?token=hunter2")
        errors.add((type(error.value), str(error.value), repr(error.value.__cause__)))

    assert len(errors) == 1
    assert "hunter2" not in repr(errors)


SPELLINGS = [
    *r"""
    127.0.0.1 127.1 127.0.1 2130706433 0x7f.1 0x7f000001 0X7F.0.0.0x1 017700000001 0177.0.0.1 0 0.0.0.0 127.0.0.1.
    localhost LocalHost localhost. %31%32%37.0.0.1 127%2e0%2e0%2e1 127.0.0.1%00.a.test
    127。0。0。1 127．0．0．1 ①②⑦.0.0.1 １２７.0.0.1 ١٢٧.0.0.1 ⓛocalhost
    [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::127.0.0.1]
    [2002:7f00:1::] [::1%25lo] [fe80::1%lo] a.test@127.0.0.1 a.test:80@127.0.0.1 127.0.0.1\@a.test
    127.0.0.1# [127.0.0.1] [::1
    """.split(),
    "127.0.0.1 ",
    "127.0.0.1\t",
]


@for_each("host", SPELLINGS)
def test_loopback_is_refused_in_every_spelling(canary: Server, call: Callable[..., Response], host: str) -> None:
    with pytest.raises((AddressRefused, BadUrl)):
        call(f"http://{host}:{canary.port}/")

    assert canary.connections == 0


def test_connection_goes_to_the_checked_address(
    monkeypatch: pytest.MonkeyPatch, resolver: FakeResolver, call: Callable[..., Response]
) -> None:
    resolver.names["rebinding.test"] = [["1.1.1.1"], ["127.0.0.1"]]
    connect = Mock(side_effect=ConnectionRefusedError)
    monkeypatch.setattr(socket.socket, "connect", connect)
    with pytest.raises(Unreachable):
        call("http://rebinding.test/")

    connect.assert_called_once_with(("1.1.1.1", 80))
    assert resolver.queries == ["rebinding.test"]  # a second query would return the canary's address


@pytest.mark.parametrize("answers", [[["127.0.0.1"], ["1.1.1.1"]], [["1.1.1.1", "127.0.0.1"]], [["::1"]]])
def test_name_that_changes_to_loopback_is_refused(
    canary: Server, resolver: FakeResolver, call: Callable[..., Response], answers: list[list[str]]
) -> None:
    resolver.names["rebinding.test"] = answers

    with pytest.raises(AddressRefused):
        call(canary.url(host="rebinding.test"))

    assert canary.connections == 0
