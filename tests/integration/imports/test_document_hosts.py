"""A document that needs files of another host: who may allow to ask it, and who never does."""

from contextlib import suppress
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client as HttpClient
from django.urls import reverse

from registry.imports import definitions, drift
from registry.models import Connection, Op, UpstreamDefinition
from tests.support.upstreams.two_hosts import TwoHosts

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("background_at_once")]

CHOOSE = "admin:registry_connection_import"


def run_command(two_hosts: TwoHosts, path: str = "/openapi.json", **options: Any) -> None:
    with suppress(CommandError):  # some operations are left out
        call_command(
            "import_ops",
            two_hosts.own.url(path),
            format="openapi",
            group="pets",
            base_url="https://pets.example.com",
            **options,
        )


@pytest.mark.parametrize(
    ("path", "shown"), [("/openapi.json", "3 cannot be imported"), ("/moved", "which was not called")]
)
def test_import_page_asks_for_other_hosts_and_reads_on_with_those_that_are_ticked(
    admin_client: HttpClient, two_hosts: TwoHosts, path: str, shown: str
) -> None:
    page = admin_client.post(reverse(CHOOSE), {"url": two_hosts.own.url(path), "text": ""}, follow=True)
    content = page.content.decode()
    box = f'<input type="checkbox" name="hosts" value="{two_hosts.other_host}">'
    assert shown in content
    assert box in content
    assert two_hosts.other.requests == []

    url = page.context["row"].url
    again: Any = admin_client.post(reverse(CHOOSE), {"url": url, "hosts": two_hosts.other_host}, follow=True)

    assert len(two_hosts.other.requests) == 1
    assert box not in again.content.decode()
    if path != "/moved":  # there is no document
        assert again.context["row"].found["operations"] == 4
        admin_client.post(again.request["PATH_INFO"], {"group": "pets", "base_url": "https://pets.example.com"})
        assert Op.objects.count() == 4


def test_hosts_that_were_allowed_before_stay_allowed(admin_client: HttpClient, two_hosts: TwoHosts) -> None:
    data = {"url": two_hosts.own.url("/openapi.json"), "hosts": "files.example.com"}
    page = admin_client.post(reverse(CHOOSE), data, follow=True).content.decode()

    assert '<input type="hidden" name="hosts" value="files.example.com">' in page


def test_command_asks_only_hosts_that_it_is_told(two_hosts: TwoHosts, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(two_hosts)
    told = f"were not read: {two_hosts.other_host}. Allow each with --allow-host."
    assert told in capsys.readouterr().out
    assert Op.objects.count() == 1

    run_command(two_hosts, allow_host=["files.example.com"])
    run_command(two_hosts, "/moved")
    assert two_hosts.other.requests == []

    capsys.readouterr()
    run_command(two_hosts, allow_host=[two_hosts.other_host])
    assert told not in capsys.readouterr().out
    assert Op.objects.count() == 4


def test_daily_check_asks_no_other_host_and_leaves_what_needs_it(two_hosts: TwoHosts) -> None:
    run_command(two_hosts, allow_host=[two_hosts.other_host])
    connection = Connection.objects.get()
    two_hosts.other.requests.clear()

    assert drift.check_connection(connection.pk) == ""
    assert definitions.list_changed(connection) == []

    two_hosts.summary = "Give all toys away"
    assert drift.check_connection(connection.pk) == ""

    changed = [row.upstream_name for row in definitions.list_changed(connection)]
    assert changed == ["GET /toys"]  # the others are neither changed nor gone
    assert UpstreamDefinition.objects.count() == 4

    two_hosts.is_moved = True
    assert f"another host, {two_hosts.other_host}, which was not called" in drift.check_connection(connection.pk)
    assert [row.upstream_name for row in definitions.list_changed(connection)] == changed
    assert two_hosts.other.requests == []
