"""The review: what models will read otherwise, by whom, what checks say; and publishing exactly that."""

import re
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analytics.models import OpDaily
from registry.admin import diff_page
from registry.drafts import change_tracking
from registry.models import Activation, Group, Op, PromptSection, Release
from registry.releases import publishing
from tests.support.admin_pages import url
from tests.support.copy_rows import make_op
from tests.support.op_entries import schema

pytestmark = pytest.mark.django_db

UNCLEAR = schema(("title",), title={"type": "string"}, amount={"type": "number", "description": "<b>How much</b>"})


def look(client: Client, **query: Any) -> HttpResponse:
    return client.get(reverse("admin:registry_release_review"), query)


def publish(client: Client, **said: str) -> HttpResponse:
    """Open the review, then send its form with what was said."""
    form = {"seen": look(client).context["review"].seen, "note": "What is new"} | said
    return client.post(reverse("admin:registry_release_review"), form)


def change(row: Any, by: str = "ann", **fields: Any) -> None:
    with change_tracking.track_changes([row], by=by, at=timezone.now()):
        for name, value in fields.items():
            setattr(row, name, value)
        row.save()


def text(response: HttpResponse) -> str:
    return " ".join(response.content.decode().split())


def test_review_shows_word_by_word_what_is_read_otherwise_and_who_made_it_so(
    admin_client: Client, published: Release
) -> None:
    op = Op.objects.get()
    change(op, summary="Add a task, quickly", timeout_ms=9_000)
    change(Group.objects.get(path="onto"), by="ben", summary="All of it")

    page = text(look(admin_client))

    assert f'1 op and 1 group differ from the live release, <a href="{url(Release, "change", published.pk)}">' in page
    assert "quickly</ins>" in page
    assert "All of it</ins>" in page
    assert "by ann" in page
    assert "by ben" in page
    assert "Not shown in help:" in page
    assert "<del>30000</del><ins>9000</ins>" in page
    assert url(Op, "change", op.pk) in page
    assert "All checks passed." in page


def test_review_tells_what_the_change_costs_a_day(admin_client: Client, published: Release, settings: Any) -> None:
    settings.GATEWAY_DOLLARS_PER_MILLION_TOKENS = Decimal("2.00")
    op = Op.objects.get()
    assert "; " not in cost(look(admin_client))
    change(op, summary="Add one task to a project of the user")
    make_op("onto.task.get")  # which nobody can have read

    unread = cost(look(admin_client))
    for path, reads in ((op.op, 1_000), ("onto.task.list", 50)):
        OpDaily.objects.create(day=timezone.now().date(), op=path, short_reads=reads, is_settled=True)
    read = cost(look(admin_client))
    change(op, status=Op.Status.RETIRED)
    retired = cost(look(admin_client))

    assert unread.endswith(" full; not read in the last 7 days.")
    assert read.endswith(" full; about +5,000 a day, +$0.01.")
    assert retired.endswith(" full.")


def cost(response: HttpResponse) -> str:
    """Return the sentence about tokens."""
    found = re.search(r"Help tokens: .*?\.(?= )", text(response))
    return found[0] if found else ""


def test_review_of_what_is_live_says_what_to_do_next(admin_client: Client, published: Release) -> None:
    page = text(look(admin_client))

    assert "Your draft matches the live release." in page
    assert 'name="note"' not in page


def test_review_of_nothing_says_what_to_do_next(admin_client: Client) -> None:
    assert "Nothing to publish yet." in text(look(admin_client))


def test_the_first_release_is_published(admin_client: Client) -> None:
    make_op()

    response = publish(admin_client, note="The first")

    live = Activation.objects.get(is_live=True)
    assert response.headers["Location"] == url(Release, "changelist")
    assert (live.note, live.activated_by) == ("The first", "admin")
    assert live.release.op_count == 1


def test_publishing_needs_a_note(admin_client: Client) -> None:
    make_op()

    page = publish(admin_client, note=" ")

    assert "This field is required." in text(page)
    assert publishing.get_live_release() is None


def test_new_warnings_are_shown_before_anything_is_published(admin_client: Client) -> None:
    make_op(parameters_schema=UNCLEAR)

    page = text(look(admin_client))

    assert "1 new warning, not in the live release." in page
    assert "The copy does not give the unit or range of amount" in page
    assert "&lt;b&gt;How much" in page
    assert all(f'name="{name}"' in page for name in ("seen", "note", "reviewed", "because"))


def test_warnings_are_accepted_with_a_tick_and_a_reason(admin_client: Client) -> None:
    make_op(parameters_schema=UNCLEAR)

    response = publish(admin_client, reviewed="on", because="The upstream says no more.")

    release = publishing.get_live_release()
    assert response.status_code == 302
    assert release is not None
    assert release.accepted_because == "The upstream says no more."
    shown = admin_client.get(url(Release, "change", release.pk)).content.decode()
    assert "The upstream says no more." in shown
    assert "The copy does not give the unit or range of amount" in shown


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"because": "No tick"}, "This field is required."),
        ({"reviewed": "on"}, "This field is required."),
        ({"reviewed": "on", "because": "  "}, "This field is required."),
        ({"reviewed": "on", "because": "x" * 501}, "at most 500 characters"),
        (
            {"reviewed": "on", "because": "Of another draft", "seen": "0" * 64},
            "The draft has changed since you reviewed it.",
        ),
        ({"reviewed": "on", "because": "Of no draft", "seen": ""}, "Review the changes again."),
    ],
)
def test_warnings_are_not_accepted_otherwise(admin_client: Client, said: dict[str, str], error: str) -> None:
    make_op(parameters_schema=UNCLEAR)

    response = publish(admin_client, **said)

    assert publishing.get_live_release() is None
    assert error in text(response)
    assert "The copy does not give the unit or range of amount" in text(response)
    assert f'name="seen" value="{response.context["review"].seen}"' in text(response)
    assert "What is new" in text(response)


def test_what_was_edited_meanwhile_is_looked_at_before_it_is_published(
    admin_client: Client, published: Release
) -> None:
    op = Op.objects.get()
    change(op, summary="Looked at")
    seen = look(admin_client).context["review"].seen
    change(op, summary="Not looked at")

    page = text(publish(admin_client, seen=seen))

    assert "The draft has changed since you reviewed it." in page
    assert "Not looked at" in page
    assert publishing.get_live_release() == published


def test_what_would_break_serving_is_told_and_cannot_be_published(admin_client: Client, published: Release) -> None:
    Op.objects.update(parameters_schema=[])

    page = text(look(admin_client))
    refused = publish(admin_client)

    assert "The draft cannot be published." in page
    assert "The schema must be an object" in page
    assert 'name="note"' not in page
    assert refused.status_code == 200
    assert publishing.get_live_release() == published


def test_a_draft_that_is_an_older_release_again_asks_for_no_reason(admin_client: Client) -> None:
    op = make_op(parameters_schema=UNCLEAR)
    publish(admin_client, reviewed="on", because="Known")
    first = publishing.get_live_release()
    change(op, parameters_schema=schema(("title",), title={"type": "string"}))
    publish(admin_client)
    change(op, parameters_schema=UNCLEAR)

    page = text(look(admin_client))
    response = publish(admin_client)

    assert "The draft has the same content as release" in page
    assert 'name="because"' not in page
    assert response.status_code == 302
    assert publishing.get_live_release() == first


def test_a_draft_that_was_withdrawn_cannot_be_published(admin_client: Client, published: Release) -> None:
    op = Op.objects.get()
    before = op.summary
    change(op, summary="Other")
    publish(admin_client)
    publishing.withdraw_release(version=published.version, reason="Wrong", by="ann", at=timezone.now())
    change(op, summary=before)

    page = text(look(admin_client))
    publish(admin_client)

    assert "It matches a release withdrawn by ann: Wrong" in page
    assert "Change the draft, or restore" in page
    assert 'name="note"' not in page
    assert publishing.get_live_release() != published


def test_differences_come_in_pages(admin_client: Client, published: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_page, "PAGE_SIZE", 2)
    for name in "abc":
        make_op(f"onto.task.{name}", tool_name=f"{name}_task")

    pages = [look(admin_client, p=number) for number in (1, 2, "x", 99)]

    names = [[shown.difference.change.name for shown in page.context["differences"]] for page in pages]
    assert names[0] == ["onto.task.a", "onto.task.b"] == names[2]
    assert names[1] == ["onto.task.c"] == names[3]
    assert "1 to 2 of 3" in text(pages[0])


def test_thousands_of_warnings_are_counted_and_some_shown(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff_page, "MAX_LISTED", 2)
    delays = {f"delay_{letter}": {"type": "number"} for letter in "abc"}
    make_op(parameters_schema=schema(("title",), title={"type": "string"}, **delays))

    page = text(look(admin_client))
    publish(admin_client, reviewed="on", because="Known")

    live = publishing.get_live_release()
    assert live is not None
    assert len(live.accepted_warnings) == 3
    shown = text(admin_client.get(url(Release, "change", live.pk)))
    assert page.count("The copy does not give the unit") == 2 == shown.count("The copy does not give the unit")
    assert "3 new warnings" in page
    assert "Showing the first 2 of 3." in page
    assert "… and 1 more." in shown


def test_a_page_of_the_review_costs_the_same_however_many_ops_changed(
    admin_client: Client, published: Release, django_assert_max_num_queries: Any
) -> None:
    PromptSection.objects.update(title="Other")
    for number in range(20):
        make_op(f"onto.task.n{number}", tool_name=f"n{number}_task")

    with django_assert_max_num_queries(30):
        look(admin_client)


def test_lists_of_copy_lead_to_the_review(admin_client: Client, published: Release) -> None:
    for model in (Op, Group, PromptSection):
        listed = admin_client.get(url(model, "changelist")).content.decode()
        assert f'class="desk-button" href="{reverse("admin:registry_release_review")}"' in listed


def test_who_may_see_copy_reviews_and_only_who_may_publish_publishes(
    client: Client, published: Release, django_user_model: Any
) -> None:
    editor = django_user_model.objects.create_user("editor", is_staff=True)
    client.force_login(editor)
    change(Op.objects.get(), summary="Other")
    assert look(client).status_code == 403

    names = ["view_op", "view_group", "view_promptsection", "change_op"]
    editor.user_permissions.set(Permission.objects.filter(codename__in=names, content_type__app_label="registry"))

    page = look(client)
    assert "Only Admins can publish." in text(page)
    assert 'name="note"' not in text(page)
    seen = page.context["review"].seen
    assert client.post(reverse("admin:registry_release_review"), {"seen": seen, "note": "x"}).status_code == 403
    assert publishing.get_live_release() == published
