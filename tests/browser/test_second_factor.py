"""A second factor is added and shown in a real browser: a code from the page with the QR code, and a passkey."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.support.console.browser_users import PASSWORD, BrowserUser
from tests.support.console.totp import build_code
from tests.support.servers.processes import Server

pytestmark = [pytest.mark.server, pytest.mark.browser]

FACTORS = "/account/second-factor/"


def add_passkeys(page: Page) -> None:
    """Give the browser an authenticator that says yes to everything."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasUserVerification": True, "isUserVerified": True}
    options |= {"hasResidentKey": True, "automaticPresenceSimulation": True}
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def sign_out_and_in(page: Page, name: str) -> None:
    page.context.clear_cookies()
    page.goto("/admin/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")


def test_app_is_added_and_asked_for(log_in: Callable[[str], BrowserUser], server: Server) -> None:
    user = log_in("editor")
    page = user.page

    page.goto(FACTORS)
    page.get_by_role("link", name="Add an app").click()
    assert user.find_accessibility_faults() == []
    secret = page.get_by_label("Key").input_value()
    page.get_by_label("Code", exact=True).fill(build_code(secret))
    page.get_by_role("button", name="Add the app").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()

    sign_out_and_in(page, "editor")
    page.wait_for_url(f"{server.url}{FACTORS}reauthenticate/?next=%2Fadmin%2F")
    assert user.find_accessibility_faults() == []
    page.get_by_label("Code", exact=True).fill("000000")
    page.keyboard.press("Enter")
    page.get_by_text("Incorrect code.").wait_for()
    assert page.goto("/admin/registry/op/") is not None
    assert page.url.startswith(f"{server.url}{FACTORS}reauthenticate/")


def test_passkey_is_added_and_asked_for(log_in: Callable[[str], BrowserUser], server: Server, browser: Any) -> None:
    home = server.url.replace("127.0.0.1", "localhost")  # passkeys belong to a name
    page = browser.new_context(base_url=home).new_page()
    add_passkeys(page)
    sign_out_and_in(page, "editor")
    page.wait_for_url(f"{home}/admin/")

    page.goto(f"{FACTORS}webauthn/add/")
    page.get_by_role("button", name="Add the passkey").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()

    sign_out_and_in(page, "editor")
    page.wait_for_url(f"{home}{FACTORS}webauthn/reauthenticate/?next=%2Fadmin%2F")
    page.get_by_role("button", name="Use your passkey").click()
    page.wait_for_url(f"{home}/admin/")
    page.context.close()
