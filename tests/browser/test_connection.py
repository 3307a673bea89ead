"""The page of a connection, in a real browser: it shows the fields of the chosen authentication, and rows are added."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from registry.models import Connection
from tests.support.browser_users import BrowserUser
from tests.support.servers.processes import Server

pytestmark = [pytest.mark.server, pytest.mark.browser]


def test_page_shows_the_fields_of_the_chosen_authentication(
    server: Server, log_in: Callable[[str], BrowserUser]
) -> None:
    connection = Connection.objects.create(name="billing", kind="http", base_url="https://billing.example.com")
    page = log_in("admin").page
    page.goto(f"/admin/registry/connection/{connection.pk}/change/")
    auth, key_name, token_url = (page.locator(f"#id_{name}") for name in ("auth", "key_name", "token_url"))
    secret = page.locator("#secrets-group tbody:not(.empty-form)")

    expect(key_name).to_be_hidden()
    expect(token_url).to_be_hidden()
    expect(secret).to_be_hidden()

    auth.select_option("client_credentials")
    expect(token_url).to_be_visible()
    expect(page.locator("#id_secrets-0-name")).to_have_value("client_secret")

    auth.select_option("api_key")
    expect(token_url).to_be_hidden()
    expect(key_name).to_be_visible()
    expect(page.locator("#id_secrets-0-name")).to_have_value("key")
    key_name.fill("X-Key")
    page.locator("#id_secrets-0-secret").fill("env:UPSTREAM_BILLING_KEY")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/admin/registry/connection/")

    connection.refresh_from_db()
    assert (connection.auth, connection.key_name) == ("api_key", "X-Key")
    assert [row.name for row in connection.secrets.all()] == ["key"]
    page.goto("/admin/registry/connection/add/")
    expect(page.locator("#id_base_url")).to_be_hidden()
    page.locator("#id_kind").select_option("http")
    expect(page.locator("#id_base_url")).to_be_visible()
    expect(page.locator("#id_key_name")).to_be_hidden()
