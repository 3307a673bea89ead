"""Content security policy: pages load only what this host serves."""

import pytest
from django.test import Client

from config import csp


def get_policy(client: Client, path: str) -> str:
    return client.get(path).headers[csp.HEADER]


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/help", "/api/schema", "/nothing", "/administration/"])
def test_other_responses_may_load_nothing(db: None, client: Client, path: str) -> None:
    assert get_policy(client, path) == csp.DENY_ALL


@pytest.mark.parametrize("path", ["/admin/", "/admin/login/", "/admin/registry/op/", "/admin/nothing/"])
def test_admin_loads_only_from_its_own_host(db: None, client: Client, path: str) -> None:
    admin_policy = get_policy(client, path)

    assert admin_policy.startswith("default-src 'self';")
    assert "script-src 'self';" in admin_policy
    assert "http" not in admin_policy


def test_pages_have_no_inline_scripts(admin_client: Client) -> None:
    for path in ("/admin/", "/admin/registry/op/", "/admin/registry/op/add/", "/admin/auth/user/add/", "/api/docs"):
        page = admin_client.get(path).content.decode()
        starts = [tag.partition(">")[0] for tag in page.split("<script")[1:]]
        assert starts
        assert all("src=" in start or 'type="application/json"' in start for start in starts)
