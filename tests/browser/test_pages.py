"""Every page of the admin as an admin sees it: nothing in the way of anybody, nothing from elsewhere, no complaint.

One page of each template is looked at in both themes and on a phone; `make test-all` does that with every page.

The pages are those of the matrix of roles, which fails where one of them is not in it.
"""

from collections.abc import Sequence
from urllib.parse import urlsplit

import pytest
from django.contrib.admin import site
from playwright.sync_api import Browser

from tests.browser.conftest import LookedAt
from tests.support import browser_users, role_matrix
from tests.support.browser_users import DESKTOP, PHONE, Person
from tests.support.cpu_budget import is_thorough

pytestmark = [pytest.mark.server, pytest.mark.browser]

# A script, data, part of a page, a file; and who is in has no login.
NO_PAGES = {"jsi18n", "autocomplete", "search", "registry_op_download", "login"}
PAGES = [name for name in role_matrix.ADMIN_NAMES if "A" in (role_matrix.may(name)[0] or "") and name not in NO_PAGES]
MENU = "#nav-sidebar"  # the same on every page: looked at once, it is half of what there is to look at
ALIKE = "#result_list tbody:nth-of-type(n+8)"  # rows like those above them, each in a tbody of its own
ELSEWHERE = ("/admin/", "/admin/login/")  # where Django sends who asks for a row that is not there, or is not logged in


def template_of(name: str) -> str:
    """Return what a page is drawn with: its own template, or the kind of a model's page."""
    if name not in role_matrix.OF_MODELS:
        return name
    model, kind = role_matrix.OF_MODELS[name]
    of_model = site.get_model_admin(model)
    own = {
        "changelist": of_model.change_list_template,
        "add": of_model.add_form_template or of_model.change_form_template,
        "change": of_model.change_form_template,
        "delete": of_model.delete_confirmation_template,
        "history": of_model.object_history_template,
    }
    return f"{kind} {own[kind]}"


# One page of each template, by name; all of them where the run takes its time.
FIRSTS = set(PAGES if is_thorough() else {template_of(name): name for name in PAGES}.values())


@pytest.mark.parametrize("name", PAGES)
def test_page_is_for_everybody(admin: Person, looked_at: LookedAt, name: str) -> None:
    answer = admin.page.goto(role_matrix.address(name, looked_at.rows))

    assert answer is not None
    assert answer.status == 200
    assert name == "index" or urlsplit(answer.url).path not in ELSEWHERE  # a history may lead to that of all copy
    but = [ALIKE] if name == "index" else [ALIKE, MENU]
    assert nothing_in_the_way(admin, but=but, in_all_ways=name in FIRSTS) == []


def test_way_in_is_for_everybody(browser: Browser, looked_at: LookedAt) -> None:
    with browser_users.somebody(browser, looked_at.server.url) as person:
        person.page.goto("/admin/")

        assert nothing_in_the_way(person) == []


def nothing_in_the_way(person: Person, but: Sequence[str] = (), *, in_all_ways: bool = True) -> list[str]:
    """Return what is wrong with the page that somebody has just opened; in all ways: in both themes, and on a phone."""
    found = person.faults(but=but)
    if in_all_ways:
        # The next page is opened in this theme then: it stays until somebody changes it.
        theme = person.change_theme()
        found += [f"{theme}: {fault}" for fault in person.faults("color-contrast", but=but)]
        person.page.set_viewport_size(PHONE)
        width = person.page.evaluate("document.documentElement.scrollWidth")
        person.page.set_viewport_size(DESKTOP)
        if width > PHONE["width"]:
            found.append(f"{width} px wide on a phone of {PHONE['width']}")
    found += [f"asked for {stranger}" for stranger in person.strangers()] + person.complaints
    person.requests.clear()
    person.complaints.clear()
    return found


def test_list_of_ops_fits_a_laptop(admin: Person, looked_at: LookedAt) -> None:
    admin.page.goto(role_matrix.address("registry_op_changelist", looked_at.rows))

    summary = admin.page.locator("td.field-summary").first.bounding_box()
    last = admin.page.locator("td.field-draft").first.bounding_box()

    assert summary is not None
    assert summary["width"] >= 250
    assert last is not None
    assert last["x"] + last["width"] <= DESKTOP["width"]
    assert admin.page.locator("td.field-calls").first.evaluate("cell => getComputedStyle(cell).textAlign") == "right"


@pytest.mark.parametrize("model", ["operationevent", "turn", "toolselection"])
def test_time_of_what_happened_stands_on_one_line(admin: Person, looked_at: LookedAt, model: str) -> None:
    admin.page.goto(role_matrix.address(f"analytics_{model}_changelist", looked_at.rows))

    lines = admin.page.locator("#result_list .field-time").first.evaluate(
        "cell => { const range = document.createRange(); range.selectNodeContents(cell);"
        " return new Set(Array.from(range.getClientRects(), each => Math.round(each.bottom))).size }"
    )

    assert lines == 1
