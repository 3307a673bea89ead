"""The review shows what changes for models, who changed it and what the checks find; publishing does just that."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analytics.flags import FlagKey
from analytics.rollout.models import Cohort, Flag, Subject
from analytics.rollups.models import OpDaily
from audit.models import AuditEntry
from console import diff_view
from console.releases import warning_groups
from registry.models import Activation, Agent, Connection, Group, Op, Pin, PromptSection, Release
from registry.releases import publishing, stored_releases
from tests.support.console.admin_pages import get_registry_url, read_text
from tests.support.console.staff import sign_in
from tests.support.loops import for_each
from tests.support.rows.copy_rows import change_row, make_op
from tests.support.rows.op_entries import build_schema
from tests.support.upstreams import any_upstream

pytestmark = pytest.mark.django_db

UNCLEAR_TICK = "number_without_unit:onto"

UNCLEAR = build_schema(
    ("title",), title={"type": "string"}, amount={"type": "number", "description": "<b>How much</b>"}
)


def open_review(client: Client, **query: Any) -> HttpResponse:
    return client.get(reverse("admin:registry_release_review"), query)


def publish(client: Client, **fields: str) -> HttpResponse:
    form = {"seen": open_review(client).context["review"].seen, "note": "What is new"} | fields
    return client.post(reverse("admin:registry_release_review"), form)


def test_review_shows_changed_words_and_their_editors(admin_client: Client, published: Release) -> None:
    op = Op.objects.get()
    change_row(op, summary="Add a task, quickly", timeout_ms=9_000)
    change_row(Group.objects.get(path="onto"), by="ben", summary="All of it")

    page = read_text(open_review(admin_client))

    assert (
        f'1 op and 1 group differ from the live release, <a href="{get_registry_url(Release, "change", published.pk)}">'
        in page
    )
    assert "quickly</ins>" in page
    assert "All of it</ins>" in page
    assert "by ann" in page
    assert "by ben" in page
    assert "Not shown in help:" in page
    assert "<del>30000</del><ins>9000</ins>" in page
    assert get_registry_url(Op, "change", op.pk) in page
    assert "All checks passed." in page


def test_review_shows_the_daily_cost_of_the_change(admin_client: Client, published: Release, settings: Any) -> None:
    settings.GATEWAY_DOLLARS_PER_MILLION_TOKENS = Decimal("2.00")
    op = Op.objects.get()
    assert "; " not in find_cost_sentence(open_review(admin_client))
    change_row(op, summary="Add one task to a project of the user")
    make_op("onto.task.get")  # which no model has read

    unread = find_cost_sentence(open_review(admin_client))
    for path, reads in ((op.op, 1_000), ("onto.task.list", 50)):
        OpDaily.objects.create(day=timezone.now().date(), op=path, short_reads=reads, is_settled=True)
    read = find_cost_sentence(open_review(admin_client))
    change_row(op, status=Op.Status.RETIRED)
    retired = find_cost_sentence(open_review(admin_client))

    assert unread.endswith(" full; not read in the last 7 days.")
    assert read.endswith(" full; +5,000 tokens a day, +$0.01.")
    assert retired.endswith(" full.")


def find_cost_sentence(response: HttpResponse) -> str:
    match = re.search(r"Help tokens: .*?\.(?= )", read_text(response))
    return match[0] if match else ""


def test_review_publishes_the_first_release_with_a_note(admin_client: Client) -> None:
    make_op()

    for note in (" ", "x"):
        assert "Write a few words: what changed, and why." in read_text(publish(admin_client, note=note))
    assert stored_releases.get_live_release() is None

    response = publish(admin_client, note="The first")

    live = Activation.objects.get(is_live=True)
    assert response.headers["Location"] == get_registry_url(Release, "changelist")
    assert (live.note, live.activated_by) == ("The first", "admin")
    assert live.release.op_count == 1


def test_review_names_what_an_op_lacks_to_run_and_does_not_publish(admin_client: Client) -> None:
    op = make_op(connection=None)

    page = read_text(open_review(admin_client))
    publish(admin_client)

    link = f"{get_registry_url(Op, 'change', op.pk)}#id_connection"
    assert "The draft cannot be published." in page
    assert f'<a href="{link}">onto.task.add</a></strong>, <code>connection</code>: Cannot run: no connection' in page
    assert 'name="note"' not in page
    assert stored_releases.get_live_release() is None
    assert "Cannot run:</strong> no connection is set." in read_text(
        admin_client.get(get_registry_url(Op, "change", op.pk))
    )
    change_row(op, connection=any_upstream.get_or_create_connection())
    assert "All checks passed." in read_text(open_review(admin_client))
    Connection.objects.update(kind="gone")  # the draft is the same, and its checks are cached
    assert "The draft cannot be published." in read_text(open_review(admin_client))


def test_new_warnings_are_shown_and_accepted_with_a_checkbox_and_a_reason(admin_client: Client) -> None:
    make_op(parameters_schema=UNCLEAR)

    page = read_text(open_review(admin_client))
    response = publish(admin_client, accepted=UNCLEAR_TICK, because="The upstream says no more.")

    assert "1 warning that the live release does not have." in page
    assert "The copy does not give the unit or range of amount" in page
    assert "&lt;b&gt;How much" in page
    assert all(f'name="{name}"' in page for name in ("seen", "note", "accepted", "because"))
    release = stored_releases.get_live_release()
    assert response.status_code == 302
    assert release is not None
    assert release.accepted_because == "The upstream says no more."
    shown = admin_client.get(get_registry_url(Release, "change", release.pk)).content.decode()
    assert "The upstream says no more." in shown
    assert "The copy does not give the unit or range of amount" in shown


@for_each(
    "fields, error",
    [
        ({"because": "No tick"}, "1 warning is neither accepted nor fixed."),
        ({"accepted": UNCLEAR_TICK, "because": "  "}, "Write a few words: why it is safe"),
        ({"accepted": UNCLEAR_TICK, "because": "x" * 501}, "at most 500 characters"),
        (
            {"accepted": UNCLEAR_TICK, "because": "Other", "seen": "0" * 64},
            "The draft has changed since you reviewed it.",
        ),
        ({"accepted": UNCLEAR_TICK, "because": "Of no draft", "seen": ""}, "Review the changes again."),
    ],
    undone=True,
)
def test_warnings_are_not_accepted_without_checkbox_or_reason(
    admin_client: Client, fields: dict[str, str], error: str
) -> None:
    make_op(parameters_schema=UNCLEAR)

    response = publish(admin_client, **fields)

    assert stored_releases.get_live_release() is None
    assert error in read_text(response)
    assert "The copy does not give the unit or range of amount" in read_text(response)
    assert f'name="seen" value="{response.context["review"].seen}"' in read_text(response)
    assert "What is new" in read_text(response)


def test_publishing_is_refused_when_the_draft_was_edited_meanwhile(admin_client: Client, published: Release) -> None:
    op = Op.objects.get()
    change_row(op, summary="Looked at")
    seen = open_review(admin_client).context["review"].seen
    change_row(op, summary="Not looked at")

    page = read_text(publish(admin_client, seen=seen))

    assert "The draft has changed since you reviewed it." in page
    assert "Not looked at" in page
    assert stored_releases.get_live_release() == published


def test_differences_are_paged(admin_client: Client, published: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_view, "PAGE_SIZE", 2)
    for name in "abc":
        make_op(f"onto.task.{name}", tool_name=f"{name}_task")

    pages = [open_review(admin_client, p=number) for number in (1, 2, "x", 99)]

    names = [[shown.difference.change.name for shown in page.context["differences"]] for page in pages]
    assert names[0] == ["onto.task.a", "onto.task.b"] == names[2]
    assert names[1] == ["onto.task.c"] == names[3]
    assert "1 to 2 of 3" in read_text(pages[0])


def test_review_counts_thousands_of_warnings_and_shows_some(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warning_groups, "MAX_SHOWN", 2)
    monkeypatch.setattr(diff_view, "MAX_LISTED", 2)  # of the release's page
    delays = {f"delay_{letter}": {"type": "number"} for letter in "abc"}
    make_op(parameters_schema=build_schema(("title",), title={"type": "string"}, **delays))

    page = read_text(open_review(admin_client))
    publish(admin_client, accepted=UNCLEAR_TICK, because="Known")

    live = Activation.objects.get(is_live=True).release
    assert len(live.accepted_warnings) == 3
    shown = read_text(admin_client.get(get_registry_url(Release, "change", live.pk)))
    assert page.count("The copy does not give the unit") == 2 == shown.count("The copy does not give the unit")
    assert "3 warnings" in page
    assert "Showing the first 2 of 3." in page
    assert "… and 1 more." in shown


def test_review_page_query_count_does_not_depend_on_changed_ops(
    admin_client: Client, published: Release, django_assert_max_num_queries: Any
) -> None:
    PromptSection.objects.update(title="Other")
    for number in range(20):
        make_op(f"onto.task.n{number}", tool_name=f"n{number}_task")

    with django_assert_max_num_queries(42):
        open_review(admin_client)


def test_review_and_make_live_say_whom_the_release_reaches(admin_client: Client, published: Release) -> None:
    change_row(Op.objects.get(), summary="Newer")
    publishing.publish_draft(note="Newer", by="tests", at=timezone.now())
    change_row(Op.objects.get(), summary="Not published yet")
    pages = [reverse("admin:registry_release_review"), reverse("admin:registry_release_make_live", args=[published.pk])]
    for page in (read_text(admin_client.get(url)) for url in pages):
        assert "All users will read it: no cohort is on another release." in page
        assert re.search(r"(Publish to|Make live for) everyone<", page)

    flag = Flag.objects.get(key=FlagKey.RELEASE)
    Cohort.objects.create(name="pilot", flag=flag, variant=published.version, listed=["ann"], salt="x")
    for name in ("ann", "ben", "cy"):
        Subject.objects.create(subject=name, seen_at=timezone.now())

    review, make_live = (read_text(admin_client.get(url)) for url in pages)
    assert "2 of the 3 users of last week will read it. This cohort stays on another release:" in review
    assert f">pilot</a> on r{published.number}." in review
    assert "Publish to everyone else<" in review
    assert "All users will read it: no cohort is on another release." in make_live  # the cohort reads it already


def test_review_page_does_not_hand_the_snapshots_to_its_template(admin_client: Client, published: Release) -> None:
    shown = open_review(admin_client).context["review"]

    assert (
        shown.selection.before["ops"] == shown.selection.after["ops"] == []
    )  # the template's context outlives the page


def discard(client: Client, kind: str, name: str) -> str:
    response = client.post(reverse("admin:registry_release_discard"), {"kind": kind, "name": name}, follow=True)
    assert response.status_code == 200
    return read_text(response)


def test_change_of_one_entry_is_discarded(admin_client: Client, published: Release) -> None:
    op = Op.objects.get()
    change_row(op, summary="Something else", timeout_ms=9_000)
    change_row(Group.objects.get(path="onto"), summary="All of it")
    assert f"Discard the change of {op.op}" in read_text(open_review(admin_client))

    page = discard(admin_client, "op", op.op)

    assert f"Discarded the change of {op.op}." in page
    assert [change.name for change in open_review(admin_client).context["review"].changes] == ["onto"]
    entry = AuditEntry.objects.filter(kind="op").order_by("-pk")[0]
    assert (entry.by, entry.note) == ("admin", "Discarded: reset to the live release")
    assert f"{op.op} already matches the live release." in discard(admin_client, "op", op.op)


def test_added_and_removed_ops_are_discarded_unless_they_are_shipped(admin_client: Client, published: Release) -> None:
    own, shipped = make_op("onto.task.copy", tool_name="copy_task"), make_op("onto.task.undo", tool_name="undo_task")
    Op.objects.filter(pk=shipped.pk).update(shipped={})
    Op.objects.filter(op="onto.task.add").delete()

    discard(admin_client, "op", own.op)
    discard(admin_client, "op", "onto.task.add")
    refused = discard(admin_client, "op", shipped.op)

    assert "Not discarded. onto.task.undo is shipped" in refused
    assert set(Op.objects.values_list("op", flat=True)) == {"onto.task.add", "onto.task.undo"}


def test_discarding_is_posted_by_those_who_may_edit(admin_client: Client, published: Release) -> None:
    url = reverse("admin:registry_release_discard")

    assert admin_client.get(url).status_code == 405
    assert admin_client.post(url, {"kind": "nonsense", "name": "x"}).status_code == 404

    client = sign_in("reader", permissions=["view_op", "view_group", "view_promptsection"])
    change_row(Op.objects.get(), summary="Something else")

    assert client.post(url, {"kind": "op", "name": Op.objects.get().op}).status_code == 403
    assert "Discard the change" not in read_text(open_review(client))


def find_problem(client: Client, rule: str) -> diff_view.LinkedFinding:
    """Return the only problem of a rule on the review page, with its link and the change that can be left out."""
    problems = [each for each in open_review(client).context["findings"] if each.finding.rule == rule]
    (problem,) = problems
    return problem


def get_change_url(row: Any) -> str:
    return reverse(f"admin:registry_{row._meta.model_name}_change", args=[row.pk])


def test_a_new_op_whose_name_a_live_prompt_has_can_be_left_out(admin_client: Client) -> None:
    make_op()
    PromptSection.objects.create(prompt="gateway_surface", name="a", position=1, title="A", text="No old_tool.")
    publishing.publish_draft(note="", by="ann", at=timezone.now())
    newer = make_op("onto.task.new", tool_name="old_tool")

    problem = find_problem(admin_client, "names_what_is_not_shown")

    assert (problem.finding.op, problem.finding.field) == (newer.op, "tool_name")
    assert problem.change is not None


@pytest.mark.parametrize(
    ("rule", "row"),
    [
        ("ops_unknown", lambda: Pin.objects.create(surface="hybrid", context="", model_family="", ops=["a.b"])),
        ("ops_unknown", lambda: Agent.objects.create(name="a", summary="A", ops=["a.b"], system_prompt="A")),
        (
            "names_what_is_not_shown",
            lambda: PromptSection.objects.create(
                prompt="native_surface", name="a", position=1, title="A", text="Never onto.task.add."
            ),
        ),
        ("path_reserved", lambda: Group.objects.create(path="agents.a", summary="A")),
        (
            "name_reserved",
            lambda: make_op("onto.task.undo", tool_name="tool_exec", source="crm", shipped={"op": "onto.task.undo"}),
        ),
        # The newer of two entries with one name, although it is the first in the order of paths.
        ("name_taken", lambda: make_op("onto.task.aaa", tool_name="onto.task.add")),
        ("name_taken", lambda: Group.objects.create(path="onto.task.add", summary="The same path")),
    ],
)
def test_every_kind_of_entry_that_blocks_has_a_link_and_can_be_left_out(
    admin_client: Client, published: Release, rule: str, row: Callable[[], Any]
) -> None:
    entry = row()

    problem = find_problem(admin_client, rule)

    assert problem.link.startswith(get_change_url(entry))
    assert problem.change is not None
    assert "Leave it out" in read_text(open_review(admin_client))
    assert "cannot be published" not in discard(admin_client, problem.change.kind, problem.change.name)
    assert not type(entry).objects.filter(pk=entry.pk).exists()


def test_link_of_an_import_selects_its_changes_and_keeps_them_selected_when_publishing(
    admin_client: Client, published: Release
) -> None:
    change_row(Op.objects.get(), summary="Edited by a colleague")
    Group.objects.create(path="crm", summary="Customers")
    make_op("crm.read")
    url = f"{reverse('admin:registry_release_review')}?only=crm&only=crm.*&note=CRM"

    page = admin_client.get(url)
    admin_client.post(url, {"seen": page.context["review"].seen, "note": "CRM"})

    assert [change.name for change in page.context["review"].changes] == ["crm", "crm.read"]
    live = stored_releases.get_live_release()
    assert live is not None
    assert live.selected_entries == [["group", "crm"], ["op", "crm.read"]]
    assert [change.name for change in open_review(admin_client).context["review"].changes] == ["onto.task.add"]
