"""Reading single variables: what the tables in test_settings.py do not show."""

import os
import stat
from collections.abc import Callable
from functools import partial
from ipaddress import IPv4Address, IPv6Address, ip_network
from pathlib import Path
from unittest import mock

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import assume, example, given
from hypothesis import strategies as st

from config import env, env_addresses
from config.env import InvalidSetting
from core.cloud_metadata import METADATA_ADDRESSES

NAME = "GATEWAY_TEST_VALUE"

READERS: list[Callable[[str], object]] = [
    partial(env.read_secret, production=True),
    partial(env.read_token, least=32),
    partial(env.read_boolean, default=True),
    partial(env.read_number, default=1),
    partial(env.read_amount, default="1.00"),
    partial(env.read_choice, choices=["one", "other"], default="one"),
    env.read_environment,
    partial(env_addresses.read_hosts, default=""),
    env_addresses.read_origins,
    env_addresses.read_networks,
    partial(env_addresses.read_ports, default="80"),
    partial(env.read_apps, default="chat"),
    partial(env_addresses.read_url, example="https://acme.com"),
    partial(env_addresses.read_database, default=None),
    env_addresses.read_broker_url,
]

variables = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
url_parts = st.text("a0:/@?#[]%.;, ", max_size=20) | variables
urls = st.builds("{}://{}".format, st.sampled_from(["postgres", "sqlite", "redis", "amqp", "https"]), url_parts)


def read(reader: Callable[[str], object], value: str) -> object:
    with mock.patch.dict(os.environ, {NAME: value}):
        return reader(NAME)


def read_sentence(reader: Callable[[str], object], value: str) -> str:
    """Return the sentence of a function that refuses a value, or nothing. Any other exception fails the test."""
    try:
        read(reader, value)
    except InvalidSetting as error:
        return str(error)
    return ""


@given(variables | urls)
@example("postgres://user:pa\u2100ss@host/name")  # NFKC turns the character into one that ends a host
@example("9" * 5000)
def test_a_value_is_read_or_refused_with_one_sentence(value: str) -> None:
    sentences = [read_sentence(reader, value) for reader in READERS]

    assert [each for each in sentences if each and not (each.startswith(f"{NAME} ") and "; set it to " in each)] == []
    assert [each for each in sentences if not each.isprintable()] == []


@given(st.sampled_from(METADATA_ADDRESSES), st.integers(0, 128))
def test_networks_that_hold_a_metadata_address_are_refused(address: IPv4Address | IPv6Address, prefix: int) -> None:
    network = ip_network((address, min(prefix, address.max_prefixlen)), strict=False)

    with pytest.raises(InvalidSetting, match=r"metadata address|every address"):
        read(env_addresses.read_networks, f"10.1.0.0/16,{network}")


@pytest.mark.parametrize("network", ["::ffff:169.254.169.254", "::ffff:0:0/96", "64:ff9b::a9fe:a9fe", "64:ff9b::/96"])
def test_networks_that_embed_a_metadata_address_are_refused(network: str) -> None:
    with pytest.raises(InvalidSetting, match=r"metadata address 1\d\d\."):
        read(env_addresses.read_networks, network)


@given(st.ip_addresses(), st.integers(8, 128))
@example(IPv4Address("10.0.0.0"), 8)
@example(IPv4Address("172.16.0.0"), 12)
@example(IPv4Address("192.168.0.0"), 16)
@example(IPv4Address("169.254.169.255"), 32)
@example(IPv6Address("fd00:1::"), 64)
def test_other_networks_are_accepted(address: IPv4Address | IPv6Address, prefix: int) -> None:
    network = ip_network((address, min(prefix, address.max_prefixlen)), strict=False)
    assume(not any(each in network for each in METADATA_ADDRESSES))
    assume(not network.overlaps(ip_network("::/8")) if network.version == 6 else True)  # it embeds IPv4 addresses

    assert read(env_addresses.read_networks, str(network)) == [network]


def test_a_network_with_host_bits_is_explained() -> None:
    with pytest.raises(InvalidSetting, match=r"contains '10\.1\.2\.3/16', an address inside a network; set it to "):
        read(env_addresses.read_networks, "10.1.2.3/16")


@pytest.mark.parametrize(("value", "apps"), [("chat, demo,chat", ["chat", "demo"]), ("", []), (" ,", [])])
def test_apps_are_read_once_each(value: str, apps: list[str]) -> None:
    assert read(partial(env.read_apps, default="workspace"), value) == apps


@pytest.mark.parametrize("value", ["no_such_app", "chat.models", "__main__", "chat demo"])
def test_app_that_cannot_be_imported_is_refused(value: str) -> None:
    with pytest.raises(InvalidSetting, match="apps that can be imported, separated by commas, such as workspace"):
        read(partial(env.read_apps, default=""), value)


def test_make_folder_makes_a_missing_folder_for_this_user_only(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "metrics"

    with mock.patch.dict(os.environ, {NAME: str(folder)}):
        env.make_folder(NAME)
        env.make_folder(NAME)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("variables", [{}, {NAME: ""}])
def test_make_folder_sets_an_empty_variable_to_the_default_or_removes_it(
    variables: dict[str, str], tmp_path: Path
) -> None:
    with mock.patch.dict(os.environ, variables):
        env.make_folder(NAME, default=tmp_path / "metrics")

        assert os.environ[NAME] == str(tmp_path / "metrics")
    assert (tmp_path / "metrics").is_dir()
    with mock.patch.dict(os.environ, {NAME: ""}):
        env.make_folder(NAME)

        assert NAME not in os.environ  # prometheus_client would write its files into the working directory


def test_make_folder_refuses_a_file_and_a_folder_that_is_not_writable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with (
        mock.patch.dict(os.environ, {NAME: str(tmp_path / "file")}),
        pytest.raises(InvalidSetting, match=r"file', which cannot be made \(File exists\); set it to a folder"),
    ):
        env.make_folder(NAME)
    with (
        mock.patch.dict(os.environ, {NAME: str(tmp_path)}),
        mock.patch.object(os, "access", return_value=False),  # root may write to any folder
        pytest.raises(InvalidSetting, match="', to which this process cannot write; set it to a folder"),
    ):
        env.make_folder(NAME)


def test_invalid_settings_exit_with_the_sentence_and_other_errors_do_not() -> None:
    with pytest.raises(SystemExit) as end, env.exit_on_invalid_setting():
        read(partial(env.read_boolean, default=True), "maybe")
    assert end.value.code == f"{NAME} is 'maybe'; set it to true or false."

    with pytest.raises(ImproperlyConfigured, match="another"), env.exit_on_invalid_setting():
        raise ImproperlyConfigured("another error, which needs its traceback")
