"""What holds on every page of the console: panels stay in their place, "Go to" works with the keyboard."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, expect

from registry.models import Op
from tests.browser.conftest import SharedServer
from tests.support.console.browser_users import BrowserUser

pytestmark = [pytest.mark.server, pytest.mark.browser]

SET_CARET = """(area, text) => {
  area.focus();
  const place = area.value.indexOf(text) + text.length;
  area.setSelectionRange(place, place);
}"""
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
    expect(page.locator(".op-problems .problem-list li")).to_have_count(10)

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
    page.keyboard.type("zzqqxx")
    expect(page.locator("#command-results-note")).to_contain_text("No matches.")
    page.keyboard.press("Escape")
    expect(go_to).to_be_hidden()
    expect(search).to_be_focused()


def test_preview_follows_the_field_that_is_edited(admin: BrowserUser) -> None:
    page = admin.page
    page.goto("/admin/registry/op/?q=onto.task.update")
    page.locator("#result_list").get_by_role("link", name="onto.task.update").click()
    expect(page.locator("#preview")).to_contain_text("tokens")

    page.locator("#id_description").fill("Changes one task.")
    expect(page.get_by_role("tab", name="Full")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#preview .is-edited")).to_have_text("Changes one task.")

    page.get_by_role("tab", name="Arguments").click()
    schema = page.locator("#id_parameters_schema")
    schema.evaluate(SET_CARET, '"priority": {')
    page.keyboard.type(" ")
    expect(page.get_by_role("tab", name="Argument", exact=True)).to_have_attribute("aria-selected", "true")
    expect(page.locator("#preview-argument")).to_have_value("priority")

    page.get_by_label("Description of title").fill("What to do")
    expect(schema).to_have_value(re.compile('"title": {[^}]*"description": "What to do"'))
    expect(page.locator("#preview-argument")).to_have_value("title")
    expect(page.locator(".op-header")).to_contain_text("unsaved")


def test_late_preview_does_not_put_the_former_argument_back(admin: BrowserUser) -> None:
    page = admin.page
    page.goto("/admin/registry/op/?q=onto.task.update")
    page.locator("#result_list").get_by_role("link", name="onto.task.update").click()
    expect(page.locator("#preview")).to_contain_text("tokens")
    preview_url = str(page.locator("#preview").get_attribute("data-url"))
    page.get_by_role("tab", name="Arguments").click()
    held: list[Route] = []
    page.route(f"**{preview_url}", lambda route: held.append(route), times=1)  # it takes no built-in method
    page.locator("#id_parameters_schema").evaluate(SET_CARET, '"priority": {')
    page.keyboard.type(" ")
    while not held:  # the handler only runs while Playwright waits
        page.wait_for_timeout(10)

    with page.expect_request(f"**{preview_url}") as request:
        page.get_by_label("Description of title").fill("What to do")
        held[0].continue_()
    assert 'name="preview-argument"\r\n\r\ntitle' in (request.value.post_data or "")


def is_post(request: Request) -> bool:
    return request.method == "POST" and request.url.endswith("/change/")


def test_ctrl_s_saves_the_form_and_stays_on_it(admin: BrowserUser, shared_server: SharedServer) -> None:
    page, op = admin.page, shared_server.rows["registry.Op"]
    page.goto(f"/admin/registry/op/{op.pk}/change/")
    # Nothing is saved: other tests share the server.
    page.route("**/change/", lambda route: route.fulfill(status=204) if is_post(route.request) else route.fallback())
    page.locator("#id_notes").focus()
    with page.expect_request(is_post) as request:
        page.keyboard.press("Control+s")
    page.unroute("**/change/")

    assert "_continue=" in (request.value.post_data or "")
