"""What pages may load: nothing but what this host serves, whatever answers."""

import pytest
from django.test import Client

from config import csp


def policy(client: Client, path: str) -> str:
    return client.get(path).headers[csp.HEADER]


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/help", "/api/schema", "/nothing", "/administration/"])
def test_what_is_no_page_may_load_nothing(db: None, client: Client, path: str) -> None:
    assert policy(client, path) == csp.DENY_ALL


@pytest.mark.parametrize("path", ["/admin/", "/admin/login/", "/admin/registry/op/", "/admin/nothing/"])
def test_the_admin_runs_what_this_host_serves(db: None, client: Client, path: str) -> None:
    found = policy(client, path)

    assert found.startswith("default-src 'self';")
    assert "script-src 'self' 'unsafe-eval';" in found
    assert "http" not in found


def test_pages_hold_no_script_of_their_own(admin_client: Client) -> None:
    for path in ("/admin/", "/admin/registry/op/", "/admin/registry/op/add/", "/admin/auth/user/add/", "/api/docs"):
        page = admin_client.get(path).content.decode()
        starts = [tag.partition(">")[0] for tag in page.split("<script")[1:]]
        assert starts
        assert all("src=" in start or 'type="application/json"' in start for start in starts)
