"""The page of a connection, in a real browser: it shows the fields of the chosen authentication, and rows are added."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from registry.models import Connection, Op
from tests.support.console.browser_users import BrowserUser
from tests.support.servers.processes import Server

pytestmark = [pytest.mark.server, pytest.mark.browser]


def test_forms_of_connections(server: Server, log_in: Callable[[str], BrowserUser]) -> None:
    page = log_in("admin").page
    check_page_shows_the_fields_of_the_chosen_authentication(page)
    check_arguments_are_added_and_removed(page)
    check_page_shows_the_fields_of_the_chosen_transport(page)


def check_page_shows_the_fields_of_the_chosen_authentication(page: Page) -> None:
    connection = Connection.objects.create(name="billing", kind="http", base_url="https://billing.example.com")
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
    page.goto(f"/admin/registry/connection/{connection.pk}/change/")
    expect(secret).to_have_count(1)
    page.get_by_text("Add secret").click()
    expect(secret.nth(1)).to_be_visible()
    page.goto("/admin/registry/connection/add/")
    expect(page.locator("#id_base_url")).to_be_visible()
    expect(page.locator("#id_key_name")).to_be_hidden()


def check_arguments_are_added_and_removed(page: Page) -> None:
    connection = Connection.objects.create(name="invoices", kind="http", base_url="https://invoices.example.com")
    page.goto(f"/admin/registry/op/new/?connection={connection.pk}")
    for label, text in (("Path", "billing.invoice.list"), ("Summary", "List invoices"), ("Address", "/invoices")):
        page.get_by_label(label, exact=False).first.fill(text)
    page.locator("#id_argument-0-name").fill("wrong")
    page.locator("#id_argument-1-name").fill("limit")

    page.locator("tbody:has(#id_argument-0-name)").get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Add argument").click()
    page.locator("#id_argument-3-name").fill("page")
    page.locator("#id_argument-3-type").select_option("integer")
    page.locator("#id_argument-3-value").fill("two")
    page.get_by_role("button", name="Add to the draft and try").click()

    # Of limit, an empty row and page, the last one is the third.
    expect(page.locator("#content-main")).to_contain_text("Argument 3, Example: Not a valid integer.")
    expect(page.locator("#id_argument-0-name")).to_be_hidden()
    page.locator("#id_argument-3-value").fill("2")
    page.get_by_role("button", name="Add to the draft and try").click()
    page.wait_for_url("**/try/")
    assert list(Op.objects.get(op="billing.invoice.list").parameters_schema["properties"]) == ["limit", "page"]


def check_page_shows_the_fields_of_the_chosen_transport(page: Page) -> None:
    page.goto("/admin/registry/connection/add/?kind=mcp&base_url=https://notes.example.com/mcp")
    url, command, auth = (page.locator(f"#id_{name}") for name in ("base_url", "command", "auth"))

    expect(url).to_have_value("https://notes.example.com/mcp")
    expect(auth).to_be_visible()
    for hidden in (command, page.locator("#id_document_url"), page.locator("#id_idempotency_header")):
        expect(hidden).to_be_hidden()

    auth.select_option("api_key")
    page.locator("#id_transport").select_option("stdio")
    expect(command).to_be_visible()
    for hidden in (url, auth, page.locator("#id_key_name")):
        expect(hidden).to_be_hidden()

    page.locator("#id_kind").select_option("http")  # its transport is not asked for, and has no say
    expect(url).to_be_visible()
    expect(page.locator("#id_key_name")).to_be_visible()
    expect(page.locator("#id_transport")).to_be_hidden()
    expect(command).to_be_hidden()
