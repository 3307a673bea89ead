"""People ask for a review, comment, approve and request changes. An approval counts for exactly one draft."""

import html
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from audit.models import AuditEntry
from notifications.models import Notification
from registry.models import Activation, Op, Release, ReviewComment, ReviewRequest
from registry.releases import stored_releases
from tests.support.console.admin_pages import get_registry_url, read_text
from tests.support.console.staff import sign_in
from tests.support.rows.copy_rows import change_row, make_op

pytestmark = pytest.mark.django_db

HOSTILE = "<img src=x onerror=alert(1)>"
URL = "admin:registry_release_review"


@pytest.fixture
def editor(db: None) -> Client:
    return sign_in("ed", role="Editor")


@pytest.fixture
def admin(db: None) -> Client:
    return sign_in("ada", role="Admin")


def change_op(summary: str, by: str = "ed") -> None:
    change_row(Op.objects.get(), by=by, summary=summary)


def take_step(client: Client, step: str, comment: str = "", **fields: str) -> HttpResponse:
    page = client.get(reverse(URL)).context
    form = {
        "step": step,
        "comment": comment,
        "seen": page["review"].seen,
        "about": getattr(page["open_request"], "pk", ""),
    }
    return client.post(reverse(URL), form | fields, follow=True)


def publish(client: Client, **fields: str) -> HttpResponse:
    seen = client.get(reverse(URL)).context["review"].seen
    return client.post(reverse(URL), {"seen": seen, "note": "New words"} | fields, follow=True)


def list_steps(client: Client) -> list[str]:
    return [step for step, _, _ in client.get(reverse(URL)).context["steps"]]


def test_approval_by_somebody_who_changed_the_draft_is_not_green(
    changed: Release, editor: Client, admin: Client
) -> None:
    change_op("Changed by its approver", by="ada")
    take_step(editor, "ask")

    page = read_text(take_step(admin, "approve"))

    assert "approved by an editor</span> ada approved 1 op" in page
    assert "ui-tag--added" not in page.partition('id="discussion"')[2].partition("</p>")[0]


def test_editor_asks_and_admin_approves_with_comments(changed: Release, editor: Client, admin: Client) -> None:
    assert "No review of this draft was requested." in read_text(editor.get(reverse(URL)))

    asked = read_text(take_step(editor, "ask", f"Is it clearer?\n\n{HOSTILE}"))
    approved = read_text(take_step(admin, "approve", "Yes, much."))

    assert "ed requested a review of 1 op" in asked
    assert html.escape(HOSTILE) in asked
    assert HOSTILE not in asked
    assert "ada approved this draft" in approved
    request = ReviewRequest.objects.get()
    assert (request.asked_by, request.decided_by, request.state) == ("ed", "ada", "approved")
    written = list(ReviewComment.objects.values_list("by", "action"))
    assert written == [("ed", "asked"), ("ada", "approved")]
    entries = AuditEntry.objects.filter(kind="review").order_by("id").values_list("by", "action", "note")
    assert list(entries) == [("ed", "asked", f"Is it clearer? {HOSTILE}"), ("ada", "approved", "Yes, much.")]


def test_approval_no_longer_counts_when_the_draft_changes(changed: Release, editor: Client, admin: Client) -> None:
    take_step(editor, "ask")
    take_step(admin, "approve")
    change_op("Changed again")

    page = read_text(editor.get(reverse(URL)))

    assert "ada approved an earlier draft" in page
    assert "The draft has changed since, so the approval no longer counts." in page
    assert "Ask again for the current draft" in page
    assert "approve" in list_steps(admin)

    assert "ed requested a review of 1 op" in read_text(take_step(editor, "ask"))
    assert ReviewRequest.objects.count() == 1


def test_changes_are_requested_with_a_comment_that_says_which(changed: Release, editor: Client, admin: Client) -> None:
    take_step(editor, "ask")

    refused = read_text(take_step(admin, "send_back", "  "))
    page = read_text(take_step(admin, "send_back", "Too short."))

    assert "Write a few words: what needs to change." in refused
    assert "ada requested changes" in page
    assert list_steps(editor) == ["ask", "comment", "withdraw"]


def test_comment_is_kept_when_a_step_is_refused(changed: Release, editor: Client, admin: Client) -> None:
    take_step(editor, "ask")
    change_op("Changed meanwhile")

    page = read_text(take_step(admin, "approve", "My long thoughts", seen="outdated"))

    assert "The draft has changed since you reviewed it." in page
    assert "My long thoughts</textarea>" in page
    assert ReviewRequest.objects.get().state == "waiting"


def test_who_asked_cannot_approve_and_is_told_so(changed: Release, admin: Client) -> None:
    take_step(admin, "ask")

    page = read_text(take_step(admin, "approve"))

    assert list_steps(admin) == ["comment", "withdraw"]
    assert "You asked for this review, so somebody else must decide." in page


def test_request_is_withdrawn_and_the_list_keeps_it(changed: Release, editor: Client) -> None:
    take_step(editor, "ask", "Please")

    take_step(editor, "withdraw", "Not ready")

    request = ReviewRequest.objects.get()
    assert (request.state, request.is_open) == ("withdrawn", False)
    assert "No review of this draft was requested." in read_text(editor.get(reverse(URL)))
    listed = read_text(editor.get(get_registry_url(ReviewRequest, "changelist")))
    shown = read_text(editor.get(get_registry_url(ReviewRequest, "change", request.pk)))
    assert "withdrawn" in listed
    assert "Please" in shown
    assert "Not ready" in shown


def test_publishing_closes_the_review(changed: Release, editor: Client, admin: Client) -> None:
    take_step(editor, "ask")

    publish(admin)

    request = ReviewRequest.objects.get()
    assert (request.state, request.is_open) == ("published", False)
    assert ReviewComment.objects.filter(action="published", text="As r2.", by="ada").exists()
    assert "Nothing to publish." in read_text(take_step(editor, "ask"))  # without changes, nothing is reviewed
    assert ReviewRequest.objects.count() == 1


@pytest.mark.parametrize(("step", "role"), [("approve", "Editor"), ("send_back", "Editor"), ("ask", "Auditor")])
def test_step_without_permission_is_refused(changed: Release, admin: Client, step: str, role: str) -> None:
    take_step(admin, "ask")
    other = sign_in("otto", role=role)

    assert step not in list_steps(other)
    assert take_step(other, step, "x").status_code == 403


@pytest.fixture
def second_person(settings: Any) -> None:
    settings.GATEWAY_REVIEW_REQUIRED = True


@pytest.mark.both_databases
@pytest.mark.usefixtures("second_person")
def test_editor_publishes_only_with_the_approval_of_somebody_else(published: Release, admin: Client) -> None:
    change_op("By Ada", by="ada")

    alone = read_text(admin.get(reverse(URL)))
    bob = sign_in("bob", role="Admin")
    refused = read_text(publish(admin))
    take_step(admin, "ask")
    take_step(bob, "approve")
    publish(admin)

    assert "Someone else must approve this draft." in alone
    assert "You changed onto.task.add. Nobody else can publish: give somebody the role Admin" in alone
    assert "You changed onto.task.add. Others who can approve or publish it: bob. Ask for a review." in refused
    assert "name=&quot;note&quot;" not in alone
    live = Activation.objects.get(is_live=True).release
    assert live != published


@pytest.mark.usefixtures("second_person")
def test_who_changed_an_entry_stays_its_editor_when_somebody_corrects_it(published: Release, admin: Client) -> None:
    change_op("By Ada", by="ada")
    change_op("By Ada, corrected", by="ed")

    assert "You changed onto.task.add." in read_text(publish(admin))
    assert stored_releases.get_live_release() == published


@pytest.mark.usefixtures("second_person")
def test_another_name_makes_no_other_person(published: Release, admin: Client) -> None:
    change_op("By Ada", by="ada")
    take_step(admin, "ask")
    User.objects.filter(username="ada").update(username="ada2")

    take_step(admin, "approve")

    assert "You changed onto.task.add." in read_text(publish(admin))
    assert stored_releases.get_live_release() == published


@pytest.mark.usefixtures("second_person")
def test_approval_of_an_earlier_draft_does_not_let_its_editor_publish(published: Release, admin: Client) -> None:
    change_op("By Ada", by="ada")
    take_step(admin, "ask")
    take_step(sign_in("bob", role="Admin"), "approve")
    change_op("By Ada again", by="ada")

    page = read_text(publish(admin))

    assert "bob approved an earlier draft. It has changed since, so ask for a review again." in page
    assert stored_releases.get_live_release() == published


@pytest.mark.usefixtures("second_person")
def test_page_says_that_the_approval_of_an_editor_does_not_count_for_the_editor(
    published: Release, admin: Client, editor: Client
) -> None:
    change_op("By Ada", by="ada")
    take_step(editor, "ask")
    take_step(admin, "approve")

    assert "Your own approval does not count." in read_text(admin.get(reverse(URL)))

    change_op("By Ada again", by="ada")

    assert "The draft has changed since the review was asked for: ask again." in read_text(admin.get(reverse(URL)))


@pytest.mark.usefixtures("second_person")
def test_other_person_publishes_without_an_approval(changed: Release, admin: Client) -> None:
    publish(admin)

    assert stored_releases.get_live_release() != changed


@pytest.mark.usefixtures("second_person")
def test_asker_who_edited_nothing_needs_another_person_too(changed: Release, admin: Client) -> None:
    take_step(admin, "ask")

    assert "You asked for the review of these changes" in read_text(publish(admin))
    assert stored_releases.get_live_release() == changed


@pytest.fixture
def mailed(settings: Any, editor: Client, admin: Client) -> None:
    """Send mails; the editor, the admin and another admin have addresses."""
    settings.GATEWAY_SENDS_EMAIL = True
    for name in ("ed", "ada"):
        User.objects.filter(username=name).update(email=f"{name}@acme.com")


@pytest.mark.usefixtures("mailed")
def test_mails_go_to_those_who_may_approve_and_the_answer_to_who_asked(
    changed: Release, editor: Client, admin: Client
) -> None:
    assert "1 person who can approve gets an e-mail." in read_text(editor.get(reverse(URL)))
    take_step(editor, "ask", "Is it <b>clearer</b>?")
    take_step(admin, "send_back", "Not yet.")

    rows = Notification.objects.order_by("created_at").values_list("recipient", "event", "subject")
    assert list(rows) == [
        ("ada@acme.com", "review.asked", "ed asks for a review of 1 op"),
        ("ed@acme.com", "review.sent_back", "ada requested changes to 1 op"),
    ]
    asked = Notification.objects.get(event="review.asked")
    assert asked.text == "ed asks for a review of 1 op.\n\nIs it <b>clearer</b>?"
    review = ReviewRequest.objects.get()
    assert asked.link.endswith(f"/admin/registry/release/review/?review={review.pk}#discussion")


@pytest.mark.both_databases
@pytest.mark.usefixtures("mailed")
def test_message_that_cannot_be_sent_shows_on_the_desk(changed: Release, editor: Client, admin: Client) -> None:
    take_step(editor, "ask")
    Notification.objects.update(state="failed", last_error="The mail server answered 550.")

    page = read_text(admin.get(reverse(URL)))
    listed = read_text(admin.get(reverse("admin:notifications_notification_changelist")))

    assert "1 message could not be sent." in page
    assert "The mail server answered 550." in listed
    assert "could not be sent" not in read_text(editor.get(reverse(URL)))


def import_op(by: str = "bob") -> None:
    """Add another op to the draft, as an import does."""
    make_op("onto.task.copy")
    change_row(Op.objects.get(op="onto.task.copy"), by=by, summary="Copy a task")


@pytest.mark.both_databases
@pytest.mark.usefixtures("second_person")
def test_approval_is_bound_to_its_entries_not_to_the_draft(published: Release, admin: Client) -> None:
    change_op("By Ada", by="ada")
    take_step(admin, "ask")
    take_step(sign_in("bob", role="Admin"), "approve")
    import_op(by="ada")

    together = read_text(publish(admin))
    review = ReviewRequest.objects.get()
    page = read_text(admin.get(f"{reverse(URL)}?review={review.pk}"))
    alone = admin.get(f"{reverse(URL)}?review={review.pk}").context
    admin.post(f"{reverse(URL)}?review={review.pk}", {"seen": alone["review"].seen, "note": "Approved"})

    assert "You changed onto.task.copy." in together
    assert "bob approved this draft" in page
    live = Activation.objects.get(is_live=True).release
    assert (live.op_count, live.selected_entries) == (1, [["op", "onto.task.add"]])
    review.refresh_from_db()
    assert (review.state, review.decided_by) == ("published", "bob")
    assert "You changed onto.task.copy." in read_text(publish(admin))  # before that release


def test_review_of_selected_changes_leaves_the_others_to_another_review(
    changed: Release, editor: Client, admin: Client
) -> None:
    import_op()
    for name in ("onto.task.add", "onto.task.copy"):
        editor.post(reverse(URL), {"step": "select", "change": [f"op:{name}"]})
        take_step(editor, "ask")

    first, second = ReviewRequest.objects.order_by("pk")
    page = admin.get(reverse(URL))
    shown = admin.get(f"{reverse(URL)}?review={second.pk}").context

    assert [[*each.keys] for each in (first, second)] == [[("op", "onto.task.add")], [("op", "onto.task.copy")]]
    assert page.context["open_request"] is None
    assert read_text(page).count("Show only these changes</a>") == 2
    assert (shown["open_request"], shown["other_reviews"]) == (second, [first])
    both = take_step(admin, "ask")
    assert "Some of these changes are in a review that ed asked for." in read_text(both)
    publish(admin)
    assert set(ReviewRequest.objects.values_list("state", flat=True)) == {"published"}


def test_part_of_a_review_cannot_be_published_alone(changed: Release, editor: Client, admin: Client) -> None:
    import_op()
    take_step(editor, "ask")
    admin.post(reverse(URL), {"step": "select", "change": ["op:onto.task.add"]})

    page = read_text(publish(admin))

    told = "onto.task.add is in the review that ed asked for, together with onto.task.copy. Select all of them or none"
    assert told in page
    assert stored_releases.get_live_release() == changed
    assert "Some of these changes are in a review that ed asked for." in read_text(take_step(admin, "ask"))


def test_outdated_approval_is_not_named_as_the_decision(changed: Release, editor: Client, admin: Client) -> None:
    take_step(editor, "ask")
    take_step(admin, "approve")
    change_op("Changed again", by="ed")

    publish(sign_in("bob", role="Admin"))

    request = ReviewRequest.objects.get()
    assert (request.state, request.decided_by) == ("published", "")
    assert "The approval by ada was outdated" in ReviewComment.objects.get(action="published").text
