"""A day in the console, in a real browser: an editor edits, an admin publishes and takes it back."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from registry.models import Op
from registry.releases import stored_releases
from tests.support.console.browser_users import BrowserUser
from tests.support.servers.processes import Server, eventually

pytestmark = [pytest.mark.server, pytest.mark.browser]

OP = "onto.task.update"
WRITTEN = "Change one task; send only what is new"
PREVIEW = "#preview"
TABS = 150  # at most, to any place of a page


def page_of_op() -> str:
    return f"/admin/registry/op/{Op.objects.get(op=OP).pk}/change/"


def serves_summary(server: Server, summary: str) -> Callable[[], bool]:
    """Return a check of whether every worker serves this summary."""

    def check() -> bool:
        with server.workers() as workers:
            answers = [http.get("/api/v1/help", params={"path": OP}).json() for http in workers.values()]
        return all(answer["summary"] == summary for answer in answers)

    return check


def test_copy_is_edited_checked_published_served_and_rolled_back(
    server: Server, log_in: Callable[[str], BrowserUser], take_picture: Callable[[BrowserUser, str], None]
) -> None:
    first, before = stored_releases.get_live_release(), server.help(OP)
    take_picture(log_in("admin"), "home")

    ed = log_in("editor")
    editor = ed.page
    editor.goto(page_of_op())
    preview, summary = editor.locator(PREVIEW), editor.get_by_label("Summary", exact=False).first
    expect(preview).to_contain_text(re.compile(r"\d+ tokens \(same as live\)"))
    summary.fill(WRITTEN)
    expect(preview).to_contain_text(WRITTEN)
    expect(preview).to_contain_text("compared to live")
    take_picture(ed, "op")

    editor.get_by_role("tab", name="Arguments").click()
    schema = editor.locator("#id_parameters_schema")
    schema_text = schema.input_value()
    schema.fill(schema_text.replace('"type": "object",', '"type": "object"', 1))
    expect(preview).to_contain_text("Line 3")
    with editor.expect_navigation():  # the page that comes looks the same
        editor.get_by_role("button", name="Save", exact=True).click()
    expect(editor.locator("#id_parameters_schema")).to_have_value(
        schema_text.replace('"type": "object",', '"type": "object"', 1)
    )
    assert Op.objects.get(op=OP).summary == before.json()["summary"]

    schema.fill(schema_text)
    expect(preview).to_contain_text("compared to live")
    editor.get_by_role("button", name="Save", exact=True).click()
    editor.wait_for_url("**/admin/registry/op/")
    assert server.help(OP).json()["summary"] == before.json()["summary"]  # a draft is served to nobody

    publish(log_in("admin"), take_picture)
    eventually(serves_summary(server, WRITTEN), what="serving it in every worker")
    after = server.help(OP)
    assert after.headers["ETag"] != before.headers["ETag"]
    assert after.headers["Gateway-Release"] == stored_releases.get_live_release().version != first.version

    admin = log_in("admin").page
    admin.goto("/admin/")
    admin.get_by_role("link", name="Roll back").click()
    admin.get_by_label("What went wrong?").fill("Too short")
    admin.get_by_role("button", name="Make live for everyone").click()
    expect(admin.locator("#content")).to_contain_text("Your draft differs from it: 1 op.")
    eventually(serves_summary(server, before.json()["summary"]), what="rolling back")
    admin.get_by_role("button", name="Discard the change").click()
    admin.wait_for_url("**/admin/registry/release/*")
    assert Op.objects.get(op=OP).summary == before.json()["summary"]
    assert server.help(OP).headers["ETag"] == before.headers["ETag"]


def publish(admin: BrowserUser, take_picture: Callable[[BrowserUser, str], None]) -> None:
    page = admin.page
    page.goto("/admin/registry/release/review/")
    expect(page.locator("ins").first).to_be_visible()
    expect(page.locator("#content")).to_contain_text("by editor")
    take_picture(admin, "review")
    page.get_by_label("What changed, and why").fill("Say it in fewer words")
    page.get_by_role("button", name="Publish to everyone").click()
    page.wait_for_url("**/admin/registry/release/*")
    take_picture(admin, "releases")


@pytest.mark.thorough
def test_copy_is_published_by_keyboard_alone(server: Server, log_in: Callable[[str], BrowserUser]) -> None:
    before = server.help(OP).json()["summary"]
    editor = log_in("editor")
    editor.page.goto(page_of_op())
    tab_to(editor, editor.page.locator("#id_summary"))
    editor.page.keyboard.press("Control+A")
    editor.page.keyboard.type(WRITTEN)
    expect(editor.page.locator(PREVIEW)).to_contain_text(WRITTEN)
    click_with_keyboard(editor, editor.page.get_by_role("button", name="Save", exact=True))
    editor.page.wait_for_url("**/admin/registry/op/")

    admin = log_in("admin")
    admin.page.goto("/admin/")
    click_with_keyboard(admin, admin.page.get_by_role("link", name="Review", exact=True))
    tab_to(admin, admin.page.get_by_label("What changed, and why"))
    admin.page.keyboard.type("Say it in fewer words")
    click_with_keyboard(admin, admin.page.get_by_role("button", name="Publish to everyone"))
    admin.page.wait_for_url("**/admin/registry/release/*")  # it is served before the page has come
    eventually(serves_summary(server, WRITTEN), what="serving it")

    admin.page.goto("/admin/")
    click_with_keyboard(admin, admin.page.get_by_role("link", name="Roll back"))
    tab_to(admin, admin.page.get_by_label("What went wrong?"))
    admin.page.keyboard.type("Too short")
    click_with_keyboard(admin, admin.page.get_by_role("button", name="Make live for everyone"))
    eventually(serves_summary(server, before), what="rolling back")


def click_with_keyboard(person: BrowserUser, target: Locator) -> None:
    tab_to(person, target)
    person.page.keyboard.press("Enter")


def tab_to(person: BrowserUser, target: Locator) -> None:
    """Press Tab until an element has the focus. Fails if Tab does not reach it."""
    expect(target).to_have_count(1)
    element = target.element_handle()  # to find it again after each key takes a hundred times as long
    for _ in range(TABS):
        if element.evaluate("each => each === document.activeElement"):
            return
        person.page.keyboard.press("Tab")
    raise AssertionError(f"{target} is not reached by Tab.")
