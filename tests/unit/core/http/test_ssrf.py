"""Which addresses may be called: a table, and the same rule over any address."""

import socket
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from threading import Event

import pytest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from core.http import AddressRefused, TimedOut, ssrf
from tests.unit.core.http.conftest import Resolver

PUBLIC = [
    "1.1.1.1",
    "93.184.216.34",
    "100.63.255.255",  # just below carrier-grade NAT
    "100.128.0.0",  # just above
    "172.15.255.255",
    "172.32.0.0",
    "192.167.255.255",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:82a::200e",
    "2001:200::1",  # just above the IETF's 2001::/23
    "2003::1",  # just above 6to4
]

REFUSED = {
    "unspecified": ["0.0.0.0", "0.1.2.3", "::"],
    "loopback": ["127.0.0.1", "127.1.2.3", "127.255.255.255", "::1"],
    "private": ["10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "fc00::1", "fd00::1"],
    "link-local": ["169.254.0.1", "fe80::1", "fe80::1%1"],
    "metadata": [
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
        "fd00:ec2::254",
    ],
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

# The same list as the rule's author had it: networks that must be refused whatever the standard library thinks.
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


@pytest.mark.parametrize("address", PUBLIC)
def test_is_public_of_public_addresses(address: str) -> None:
    assert ssrf.is_public(ip_address(address))


@pytest.mark.parametrize(("kind", "address"), [(kind, each) for kind, all_ in REFUSED.items() for each in all_])
def test_is_public_refuses(kind: str, address: str) -> None:
    assert not ssrf.is_public(ip_address(address)), kind


@given(any_address)
def test_is_public_means_global_and_in_no_special_network(ip: IPv4Address | IPv6Address) -> None:
    special = any(ip in network for network in SPECIAL)
    assigned = ip.version == 4 or (ip in GLOBAL_UNICAST and ip not in ip_network("2001::/23"))

    assert ssrf.is_public(ip) == (ip.is_global and assigned and not special)


@given(any_ipv4)
def test_is_public_refuses_whatever_holds_an_ipv4_address(ip: IPv4Address) -> None:
    embedded = int(ip)
    forms = [
        IPv6Address(embedded),  # IPv4-compatible
        IPv6Address(0xFFFF << 32 | embedded),  # IPv4-mapped
        IPv6Address(int(IPv6Address("64:ff9b::")) | embedded),  # NAT64
        IPv6Address(int(IPv6Address("64:ff9b:1::")) | embedded),
        IPv6Address(0x2002 << 112 | embedded << 80 | 1),  # 6to4
        IPv6Address(0x20010000 << 96 | (embedded ^ 0xFFFFFFFF)),  # Teredo
    ]

    assert [str(form) for form in forms if ssrf.is_public(form)] == []


@given(any_address)
def test_may_call_an_allowed_network_on_any_port(ip: IPv4Address | IPv6Address) -> None:
    with override_settings(GATEWAY_OUTGOING_ALLOW=[ip_network(ip)], GATEWAY_OUTGOING_PORTS=[443]):
        assert ssrf.is_allowed(str(ip), 9999)

        assert not ssrf.is_allowed(str(ip + 1 if int(ip) == 0 else ip - 1), 9999)


def test_may_call_public_hosts_on_usual_ports_only(settings: Settings) -> None:
    assert [port for port in (22, 25, 80, 443, 6379, 8443) if ssrf.is_allowed("1.1.1.1", port)] == [80, 443]

    settings.GATEWAY_OUTGOING_PORTS = [8443]
    assert [port for port in (80, 443, 8443) if ssrf.is_allowed("1.1.1.1", port)] == [8443]


def test_may_call_does_not_take_a_mapped_address_for_the_allowed_one(loopback_allowed: None) -> None:
    assert ssrf.is_allowed("127.0.0.1", 80)
    assert not ssrf.is_allowed("::ffff:127.0.0.1", 80)


def test_checked_returns_all_addresses_in_the_resolvers_order(resolver: Resolver) -> None:
    resolver.names["a.test"] = [["2606:4700:4700::1111", "1.1.1.1"]]

    found = ssrf.resolve_allowed_addresses("a.test", 443, seconds=1)

    assert [(address.family, address.target[:2]) for address in found] == [
        (socket.AF_INET6, ("2606:4700:4700::1111", 443)),
        (socket.AF_INET, ("1.1.1.1", 443)),
    ]


@pytest.mark.parametrize("answer", [["1.1.1.1", "10.0.0.1"], ["::1", "1.1.1.1"], ["127.0.0.1"], []])
def test_checked_refuses_a_name_for_any_one_of_its_addresses(resolver: Resolver, answer: list[str]) -> None:
    resolver.names["a.test"] = [answer]

    with pytest.raises(AddressRefused):
        ssrf.resolve_allowed_addresses("a.test", 443, seconds=1)


@pytest.mark.parametrize("host", ["a" * 64 + ".test", "a..test", ".", "a" * 300, "a%00.test", "[", "a b"])
def test_checked_refuses_what_is_no_name(host: str) -> None:
    with pytest.raises(AddressRefused):
        ssrf.resolve_allowed_addresses(host, 443, seconds=2)


def test_checked_waits_for_a_slow_resolver_no_longer_than_told(monkeypatch: pytest.MonkeyPatch) -> None:
    woken = Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: woken.wait(5) and [])

    with pytest.raises(TimedOut):
        ssrf.resolve_allowed_addresses("slow.test", 443, seconds=0.05)
    assert not woken.is_set()
    woken.set()


def test_refused_and_unknown_names_are_one_error(resolver: Resolver, call: Callable[..., object]) -> None:
    resolver.names |= {"inside.test": [["10.1.2.3"]], "nowhere.test": [[]], "odd-port.test": [["1.1.1.1"]]}
    said = set()

    for host in ("inside.test", "nowhere.test", "odd-port.test:25", "169.254.169.254"):
        with pytest.raises(AddressRefused) as refused:
            call(f"http://{host}/secret-path?token=hunter2")
        said.add((type(refused.value), str(refused.value), repr(refused.value.__cause__)))

    assert len(said) == 1
    assert "hunter2" not in repr(said)
