"""An editor finds an op by typing, sees what an edit does to eval cases, and an admin has to say why cases are lost."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from registry.evals import case_store
from registry.models import Activation, EvalCase, Op
from tests.support.console.browser_users import BrowserUser

pytestmark = [pytest.mark.server, pytest.mark.browser]

OP = "cal.event.list"
REQUEST = "whatever did I let myself in for"


def choose_op(page: Page, path: str) -> None:
    """Choose an op by typing a part of its path, as in any field that looks for rows."""
    page.locator(".field-op .select2-selection, [id$=id_op] + .select2 .select2-selection").first.click()
    page.locator(".select2-search__field").last.fill(path)
    page.locator(".select2-results__option", has_text=path).first.click()


def test_a_case_is_written_won_by_an_edit_and_lost_for_a_reason(
    log_in: Callable[[str], BrowserUser], take_picture: Callable[[BrowserUser, str], None]
) -> None:
    case_store.merge_shipped_cases(case_store.read_shipped_cases())
    ed = log_in("editor")
    editor = ed.page
    editor.goto("/admin/registry/evalcase/add/")
    editor.get_by_label("Request").fill(REQUEST)
    choose_op(editor, OP)
    editor.get_by_role("button", name="Save", exact=True).click()
    editor.wait_for_url("**/admin/registry/evalcase/")
    assert EvalCase.objects.get(request=REQUEST).op == OP

    editor.goto("/admin/registry/op/edit/?edit=keyword&text=whatever+did+I+let+myself+in+for")
    choose_op(editor, OP)
    editor.get_by_role("button", name="Show the effect").click()
    expect(editor.get_by_role("region", name="Won")).to_contain_text(REQUEST)
    editor.get_by_role("button", name="Save in the draft").click()
    editor.wait_for_url("**/admin/registry/release/review/")
    expect(editor.locator("#content")).to_contain_text("1 case won")

    Op.objects.filter(op=OP).update(keywords=[], summary="Do it", description="")
    editor.goto("/admin/registry/evalcase/compare/")
    expect(editor.get_by_role("region", name="Lost")).to_contain_text(OP)
    take_picture(ed, "evals")

    admin = log_in("admin").page
    admin.goto("/admin/registry/release/review/")
    admin.get_by_label("What changed, and why").fill("Fewer words")
    admin.get_by_label("Why is it right to publish").fill("It is going to be replaced.")
    for tick in admin.get_by_role("checkbox", name="Accept ").all():
        tick.check()
        admin.get_by_label("Why is it safe to publish").fill("It is going to be replaced.")
    admin.get_by_role("button", name="Publish to everyone").click()
    admin.wait_for_url("**/admin/registry/release/*")
    admin.goto("/admin/registry/activation/")
    expect(admin.locator("#result_list")).to_contain_text("It is going to be replaced.")
    assert Activation.objects.get(is_live=True).lost_because == "It is going to be replaced."
    assert ed.errors == []
