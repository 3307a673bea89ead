"""The pages of the console as an admin sees them: nothing in the way of anybody, nothing from elsewhere, no complaint.

`make test` opens one page of each template, and looks at its colours in one theme or the other, and at its width on a
phone. `make test-all` opens all pages, and looks at their colours in both themes.

The pages are those of the matrix of roles, which fails where one of them is not in it.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

import pytest
from django.contrib.admin import site
from playwright.sync_api import Browser

from core.sign_in.throttle import PAIR_LIMIT
from tests.browser.conftest import SharedServer
from tests.support.console import browser_users, role_matrix
from tests.support.console.browser_users import DESKTOP, PHONE, BrowserUser
from tests.support.cpu_budget import is_thorough

pytestmark = [pytest.mark.server, pytest.mark.browser]

# A script, data, part of a page, a file; and who is in has no login.
NO_PAGES = {"jsi18n", "autocomplete", "search", "registry_op_download", "registry_evalcase_download", "login"}
PAGES = [
    name
    for name in role_matrix.ADMIN_NAMES
    if "A" in (role_matrix.get_expected_roles(name)[0] or "") and name not in NO_PAGES
]
CONTRAST = "color-contrast"  # a rule of axe-core
MENU = "#nav-sidebar"  # the same on every page: looked at once, it is half of what there is to look at
ALIKE = "#result_list tbody:nth-of-type(n+8)"  # rows like those above them, each in a tbody of its own
ELSEWHERE = ("/admin/", "/admin/login/")  # where Django sends who asks for a row that is not there, or is not logged in


def get_template_name(name: str) -> str:
    """Return the template of a page: its own, or the kind of a model's page."""
    if name not in role_matrix.MODEL_PAGES:
        return name
    model, kind = role_matrix.MODEL_PAGES[name]
    of_model = site.get_model_admin(model)
    own = {
        "changelist": of_model.change_list_template,
        "add": of_model.add_form_template or of_model.change_form_template,
        "change": of_model.change_form_template,
        "delete": of_model.delete_confirmation_template,
        "history": of_model.object_history_template,
    }
    return f"{kind} {own[kind]}"


OPENED = PAGES if is_thorough() else sorted({get_template_name(name): name for name in PAGES}.values())


@pytest.mark.parametrize("name", OPENED)
def test_page_is_accessible(admin: BrowserUser, shared_server: SharedServer, name: str) -> None:
    response = admin.page.goto(role_matrix.get_page_url(name, shared_server.rows))

    assert response is not None
    assert response.status == 200
    assert name == "index" or urlsplit(response.url).path not in ELSEWHERE  # a history may lead to that of all copy
    but = [ALIKE] if name == "index" else [ALIKE, MENU]
    assert find_page_problems(admin, but=but) == []


def test_login_pages_are_accessible(browser: Browser, shared_server: SharedServer) -> None:
    with browser_users.open_browser(browser, shared_server.server.url) as person:
        person.page.goto("/admin/")

        assert find_page_problems(person) == []


def test_page_of_a_locked_sign_in_is_accessible(browser: Browser, shared_server: SharedServer) -> None:
    with browser_users.open_browser(browser, shared_server.server.url) as person:
        for _ in range(PAIR_LIMIT):
            person.page.goto("/admin/login/")
            person.page.fill("#id_username", "mallory")
            person.page.fill("#id_password", "wrong")
            person.page.click("form button[type=submit]")
            person.page.wait_for_load_state()

        assert person.page.get_by_text("Sign-in is locked").is_visible()
        person.errors = [error for error in person.errors if "status of 429" not in error]  # Chromium reports the page
        assert find_page_problems(person) == []


def find_page_problems(person: BrowserUser, but: Sequence[str] = ()) -> list[str]:
    """Return the problems of the open page, also at phone width.

    Colours take as long as all other rules together. They are looked at in one theme, in turn, and in both with the
    thorough profile.
    """
    problems = person.find_accessibility_faults(but=but)
    theme = person.change_theme()  # it stays: the next page is opened in it
    if is_thorough():
        problems += [f"{theme}: {fault}" for fault in person.find_accessibility_faults(CONTRAST, but=but)]
    person.page.set_viewport_size(PHONE)
    width = person.page.evaluate("document.documentElement.scrollWidth")
    person.page.set_viewport_size(DESKTOP)
    if width > PHONE["width"]:
        problems.append(f"{width} px wide on a phone of {PHONE['width']}")
    problems += [f"asked for {stranger}" for stranger in person.list_foreign_requests()] + person.errors
    person.requests.clear()
    person.errors.clear()
    return problems


def test_list_of_ops_fits_a_laptop(admin: BrowserUser, shared_server: SharedServer) -> None:
    admin.page.goto(role_matrix.get_page_url("registry_op_changelist", shared_server.rows))

    summary = admin.page.locator("td.field-summary").first.bounding_box()
    last = admin.page.locator("td.field-draft").first.bounding_box()

    assert summary is not None
    assert summary["width"] >= 250
    assert last is not None
    assert last["x"] + last["width"] <= DESKTOP["width"]
    assert admin.page.locator("td.field-calls").first.evaluate("cell => getComputedStyle(cell).textAlign") == "right"


@pytest.mark.parametrize("model", ["operationevent", "turn", "toolselection", "feedback"])
def test_times_of_events_stay_on_one_line(admin: BrowserUser, shared_server: SharedServer, model: str) -> None:
    admin.page.goto(role_matrix.get_page_url(f"analytics_{model}_changelist", shared_server.rows))

    lines = admin.page.locator("#result_list .field-time").first.evaluate(
        "cell => { const range = document.createRange(); range.selectNodeContents(cell);"
        " return new Set(Array.from(range.getClientRects(), each => Math.round(each.bottom))).size }"
    )

    assert lines == 1
