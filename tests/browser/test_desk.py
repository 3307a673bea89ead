"""What holds on every page of the desk: panels stay in their place, "Go to" obeys the keyboard."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from registry.models import Op
from tests.browser.conftest import SharedServer
from tests.support.browser_users import BrowserUser

pytestmark = [pytest.mark.server, pytest.mark.browser]

UNKNOWN_OPS = " ".join(f"See onto.unknown.op{number}." for number in range(10))


def get_box(page: Page, selector: str) -> dict[str, Any]:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return dict(box)


def test_long_list_of_problems_stays_in_its_panel(admin: BrowserUser, shared_server: SharedServer) -> None:
    page, op = admin.page, shared_server.rows["registry.Op"]
    assert isinstance(op, Op)
    page.goto(f"/admin/registry/op/{op.pk}/change/")
    page.locator("#id_description").fill(UNKNOWN_OPS)
    expect(page.locator("#preview .problem-list li")).to_have_count(10)

    panel, problems = get_box(page, "#preview"), get_box(page, ".op-problems")

    assert problems["y"] + problems["height"] <= panel["y"] + panel["height"]
    assert panel["y"] + panel["height"] <= get_box(page, "#submit-row")["y"]


def test_fresh_form_shows_no_errors_and_a_failed_save_says_each_once(admin: BrowserUser) -> None:
    page = admin.page
    page.goto("/admin/registry/op/add/")
    expect(page.locator("#preview")).to_contain_text("Still needed: Op, Summary, Tool name.")
    assert page.get_by_text("This field is required.").count() == 0

    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#preview")).to_contain_text("Still needed: Op, Summary, Tool name.")
    assert page.get_by_text("This field is required.").count() == 3


def test_go_to_opens_and_closes_by_keyboard(admin: BrowserUser) -> None:
    page = admin.page
    page.goto("/admin/registry/op/")
    search, go_to = page.locator("#searchbar"), page.locator("#search-input-command")
    search.focus()
    page.keyboard.press("Control+k")
    expect(go_to).to_be_focused()
    page.keyboard.type("nothing has this name")
    expect(page.locator("#command-results-note")).to_contain_text("No matching names.")
    page.keyboard.press("Escape")
    expect(go_to).to_be_hidden()
    expect(search).to_be_focused()
