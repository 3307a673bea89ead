"""The draft in the admin: pages answer, publishing says what it did, what services own is read-only."""

import csv
import io
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.contrib.messages import get_messages
from django.forms import BooleanField
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from analytics.models import AuditEntry
from registry import releases
from registry.admin import publishing
from registry.models import Activation, Connection, Group, Op, OpAlias, PolicyRule, PromptSection, Release
from tests.unit.registry.entries import schema
from tests.unit.registry.rows import make_op

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
MODELS = [Group, Op, PromptSection, Connection, Release, Activation]


@pytest.fixture
def published() -> Release:
    make_op()
    PromptSection.objects.create(prompt="guide", name="ids", title="Ids", text="Whole.")
    return releases.publish(note="Test", by="tests", at=AT)


def url(model: Any, page: str, *args: Any) -> str:
    return reverse(f"admin:registry_{model._meta.model_name}_{page}", args=args)


def act(client: Client, model: Any, action: str, *chosen: Any) -> tuple[HttpResponse, list[str]]:
    data = {"action": action, "_selected_action": [row.pk for row in chosen]}
    response = client.post(url(model, "changelist"), data)
    return response, [str(message) for message in get_messages(response.wsgi_request)]


@pytest.mark.parametrize("model", MODELS)
def test_lists_searches_and_forms_answer(admin_client: Client, published: Release, model: Any) -> None:
    row = model.objects.first()

    assert admin_client.get(url(model, "changelist")).status_code == 200
    assert admin_client.get(url(model, "changelist"), {"q": "onto"}).status_code == 200
    assert admin_client.get(url(model, "change", row.pk)).status_code == 200


@pytest.mark.parametrize("model", [Release, Activation])
def test_what_services_own_is_read_only(admin_client: Client, published: Release, model: Any) -> None:
    row = model.objects.first()

    assert admin_client.get(url(model, "add")).status_code == 403
    assert admin_client.post(url(model, "change", row.pk), {"note": "x"}).status_code == 403
    assert admin_client.post(url(model, "delete", row.pk), {"post": "yes"}).status_code == 403


def test_json_is_shown_as_a_person_edits_it(admin_client: Client) -> None:
    op = make_op(keywords=["Größe"])

    page = admin_client.get(url(Op, "change", op.pk)).content.decode()

    assert "Größe" in page
    assert "{\n  &quot;" in page


def test_a_form_that_publishing_would_refuse_says_so(admin_client: Client) -> None:
    page = admin_client.post(url(Op, "add"), {"op": "a.b", "parameters_schema": '{"type": "array"}'}).content.decode()

    assert "The schema must be an object" in page
    assert not Op.objects.exists()


@pytest.mark.parametrize(
    "text", ['{"type": "object", "type": "object"}', '{"a": NaN}', '"\\ud800"', '"\\u0000"', "[" * 40 + "]" * 40, "{"]
)
def test_json_that_could_not_be_kept_is_refused_in_the_form(admin_client: Client, text: str) -> None:
    response = admin_client.post(url(Op, "add"), {"op": "a.b", "parameters_schema": text, "contexts": "[]"})

    assert response.status_code == 200
    assert "parameters_schema" in response.context["adminform"].form.errors
    assert "contexts" not in response.context["adminform"].form.errors


def test_publish_answers_in_a_sentence(admin_client: Client) -> None:
    op = make_op()

    _, first = act(admin_client, Op, "publish_draft", op)
    _, second = act(admin_client, Op, "publish_draft", op)
    Op.objects.filter(pk=op.pk).update(parameters_schema=[])
    _, third = act(admin_client, Op, "publish_draft", op)

    live = releases.live()
    assert live is not None
    assert Activation.objects.get().activated_by == "admin"
    assert first == [f"Release {live} is live with 1 ops."]
    assert second[-1] == "Nothing to publish: the draft is what is live."
    assert third[-1].startswith("onto.task.add, parameters_schema: The schema must be an object")


UNCLEAR = schema(("title",), title={"type": "string"}, amount={"type": "number", "description": "<b>How much</b>"})


def accept(client: Client, op: Op, **said: str) -> HttpResponse:
    """Ask for the page of warnings, then send it with what was said."""
    page, _ = act(client, Op, "publish_draft", op)
    data = {"action": "publish_draft", "_selected_action": "0", "seen": page.context["seen"], **said}
    return client.post(url(Op, "changelist"), data)


def test_new_warnings_are_shown_before_anything_is_published(admin_client: Client) -> None:
    op = make_op(parameters_schema=UNCLEAR)

    response, _ = act(admin_client, Op, "publish_draft", op)

    page = response.content.decode()
    assert releases.live() is None
    assert "Publish with warnings?" in page
    assert "1 new warning" in page
    assert "Nothing says in what amount counts" in page
    assert "errorlist" not in page
    assert all(f'name="{name}"' in page for name in ("seen", "reviewed", "because", "_selected_action"))


def test_warnings_are_accepted_with_a_tick_and_a_reason(admin_client: Client) -> None:
    op = make_op(parameters_schema=UNCLEAR)

    response = accept(admin_client, op, reviewed="on", because="The upstream says no more.")

    release = releases.live()
    assert response.status_code == 302
    assert release is not None
    assert release.accepted_because == "The upstream says no more."
    shown = admin_client.get(url(Release, "change", release.pk)).content.decode()
    assert "The upstream says no more." in shown
    assert "Nothing says in what amount counts" in shown


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"because": "No tick"}, "This field is required."),
        ({"reviewed": "on"}, "This field is required."),
        ({"reviewed": "on", "because": "  "}, "This field is required."),
        ({"reviewed": "on", "because": "x" * 501}, "at most 500 characters"),
        ({"reviewed": "on", "because": "Of another draft", "seen": "0" * 64}, "The draft was edited meanwhile."),
    ],
)
def test_warnings_are_not_accepted_otherwise(admin_client: Client, said: dict[str, str], error: str) -> None:
    response = accept(admin_client, make_op(parameters_schema=UNCLEAR), **said)

    page = response.content.decode()
    assert releases.live() is None
    assert error in page
    assert "Nothing says in what amount counts" in page
    assert f'name="seen" value="{response.context["seen"]}"' in page


def test_thousands_of_warnings_are_counted_and_some_shown(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "LISTED", 2)
    delays = {f"delay_{letter}": {"type": "number"} for letter in "abc"}
    op = make_op(parameters_schema=schema(("title",), title={"type": "string"}, **delays))

    page, _ = act(admin_client, Op, "publish_draft", op)
    accept(admin_client, op, reviewed="on", because="Known")

    live = releases.live()
    assert live is not None
    assert len(live.accepted_warnings) == 3
    for html in (page, admin_client.get(url(Release, "change", live.pk))):
        assert html.content.decode().count("Nothing says in what") == 2
    assert " ".join(page.content.decode().split()).count("3 new warnings, of which these are the first 2;") == 1
    assert "… and 1 more." in html.content.decode()


def test_a_selection_that_is_no_row_asks_as_well(admin_client: Client) -> None:
    make_op(parameters_schema=UNCLEAR)

    data = {"action": "publish_draft", "_selected_action": ["<b>"]}
    response = admin_client.post(url(Op, "changelist"), data)

    assert response.status_code in (200, 302, 400)
    assert releases.live() is None
    assert "<b>" not in response.content.decode()


def test_an_older_release_is_made_live_again(admin_client: Client, published: Release) -> None:
    Op.objects.update(summary="Other")
    newer = releases.publish(note="Test", by="tests", at=AT)

    _, told = act(admin_client, Release, "make_live", published)
    _, again = act(admin_client, Release, "make_live", published)
    _, both = act(admin_client, Release, "make_live", published, newer)

    assert told == [f"Release {published} is live."]
    assert again[-1] == f"Release {published} is live already."
    assert both[-1] == "Choose one release."
    assert releases.live() == published


def test_releases_say_which_is_live_and_what_they_are(admin_client: Client, published: Release) -> None:
    Op.objects.update(summary="Other")
    newer = releases.publish(note="Test", by="tests", at=AT)

    listed = admin_client.get(url(Release, "changelist")).content.decode()
    shown = admin_client.get(url(Release, "change", published.pk)).content.decode()

    rows = [row for row in listed.split("<tr") if "field-live" in row]
    assert {
        str(release): "check_small" in row for row in rows for release in (newer, published) if str(release) in row
    } == {
        str(newer): True,
        str(published): False,
    }
    assert published.version in shown
    assert all(label in shown for label in ("Live", "Op count", "Created at", "Created by"))


def test_sentences_are_edited_in_lines_as_long_as_they(admin_client: Client) -> None:
    content = admin_client.get(url(Op, "change", make_op().pk)).content.decode()

    assert re.search(r'name="summary"[^>]*class="[^"]*desk-line"', content)


def test_staff_without_the_permission_cannot_publish(client: Client, django_user_model: Any) -> None:
    op = make_op()
    editor = django_user_model.objects.create_user("editor", is_staff=True)
    editor.user_permissions.add(*Permission.objects.filter(codename__in=["change_op", "view_op"]))
    client.force_login(editor)

    act(client, Op, "publish_draft", op)

    assert releases.live() is None


def test_shipped_rows_are_kept_and_own_rows_can_go(admin_client: Client) -> None:
    shipped = make_op(shipped={"op": "onto.task.add"})
    own = make_op("onto.task.own")

    def delete(*rows: Op) -> int:
        data = {"action": "delete_selected", "_selected_action": [row.pk for row in rows], "post": "yes"}
        return admin_client.post(url(Op, "changelist"), data).status_code

    assert admin_client.post(url(Op, "delete", shipped.pk), {"post": "yes"}).status_code == 403
    assert delete(shipped, own) == 403
    assert delete(own) == 302
    assert list(Op.objects.all()) == [shipped]
    assert OpAlias.objects.get().op == shipped


def test_every_model_of_copy_has_its_admin() -> None:
    assert set(MODELS) <= set(admin.site._registry)


def test_ops_are_downloaded_as_a_table(admin_client: Client) -> None:
    chosen, _ = make_op(summary="=1+1"), make_op("onto.task.other")

    response, _ = act(admin_client, Op, "export_csv", chosen)

    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert [(row["op"], row["summary"]) for row in rows] == [("onto.task.add", "'=1+1")]


# --- what others did meanwhile, and the history -----------------------------------------------------------------------


def form_of(response: HttpResponse) -> dict[str, str]:
    """What a browser would send of a page as it stands, inlines included."""
    context: Any = response.context
    forms = [context["adminform"].form]
    for inline in context["inline_admin_formsets"]:
        forms += [inline.formset.management_form, *inline.formset.forms]
    fields = [field for form in forms for field in form]
    values = {field.html_name: field.value() for field in fields}
    boxes = {field.html_name for field in fields if isinstance(field.field, BooleanField)}
    sent = {name: "" if value is None else str(value) for name, value in values.items() if name not in boxes}
    return sent | {name: "on" for name in boxes if values[name]}


def save(client: Client, row: Any, sent: dict[str, str]) -> HttpResponse:
    return client.post(url(type(row), "change", row.pk), sent)


def told() -> list[tuple[str, str, str, list[str]]]:
    return [(e.by, e.name, e.action, sorted(e.changes)) for e in AuditEntry.objects.order_by("id")]


def test_every_change_in_a_form_is_written_down_with_what_was_before(admin_client: Client) -> None:
    op = make_op()
    sent = form_of(admin_client.get(url(Op, "change", op.pk)))

    response = save(admin_client, op, sent | {"summary": "New", "rules-0-text": "Another rule"})

    assert response.status_code == 302
    assert told() == [("admin", op.op, "changed", ["policy", "summary"])]
    entry = AuditEntry.objects.get()
    assert entry.changes["summary"] == [f"Add {op.op}", "New"]
    assert entry.changes["policy"][0] != entry.changes["policy"][1]


def test_a_form_saved_as_it_was_leaves_no_trace(admin_client: Client) -> None:
    op = make_op()

    assert save(admin_client, op, form_of(admin_client.get(url(Op, "change", op.pk)))).status_code == 302

    assert told() == []


def test_a_form_as_a_browser_sends_it_leaves_no_trace(admin_client: Client) -> None:
    op = make_op(description="One line.\nAnother.", notes="a\n\nb")
    sent = form_of(admin_client.get(url(Op, "change", op.pk)))

    save(admin_client, op, {name: value.replace("\n", "\r\n") for name, value in sent.items()})

    op.refresh_from_db()
    assert (op.description, op.notes) == ("One line.\nAnother.", "a\n\nb")
    assert told() == []


def test_json_that_is_emptied_says_nothing(admin_client: Client) -> None:
    op = make_op()
    sent = form_of(admin_client.get(url(Op, "change", op.pk)))
    emptied = dict.fromkeys(("contexts", "keywords", "argument_aliases", "display_only"), "")

    assert save(admin_client, op, sent | emptied | {"examples-0-args": ""}).status_code == 200  # the op needs a title
    response = save(admin_client, op, sent | emptied)

    op.refresh_from_db()
    assert response.status_code == 302
    assert (op.contexts, op.keywords, op.argument_aliases, op.display_only) == ([], [], {}, [])


def test_json_is_shown_as_it_was_typed_while_the_form_is_not_saved(admin_client: Client) -> None:
    op = make_op()
    sent = form_of(admin_client.get(url(Op, "change", op.pk)))
    typed = '{ "type": "object",\n    "properties": {} }'

    page = save(admin_client, op, sent | {"parameters_schema": typed, "summary": ""}).content.decode()

    assert escape(typed) in page


def test_what_is_added_and_removed_is_written_down(admin_client: Client) -> None:
    op = make_op()
    PolicyRule.objects.all().delete()

    admin_client.post(url(Group, "add"), {"path": "util", "summary": "Utilities"})
    group = Group.objects.get(path="util")
    admin_client.post(url(PolicyRule, "add"), {"op": op.pk, "kind": "do", "text": "First", "position": 0})
    admin_client.post(url(PolicyRule, "delete", PolicyRule.objects.get().pk), {"post": "yes"})
    act_on = {"action": "delete_selected", "_selected_action": [op.pk], "post": "yes"}
    admin_client.post(url(Op, "changelist"), act_on)
    admin_client.post(url(Group, "delete", group.pk), {"post": "yes"})

    assert [(name, action, fields[-1:]) for _, name, action, fields in told()] == [
        ("util", "added", []),
        (op.op, "changed", ["policy"]),
        (op.op, "changed", ["policy"]),
        (op.op, "removed", ["tool_name"]),
        ("util", "removed", ["summary"]),
    ]


def test_a_rule_that_moves_to_another_op_changes_both(admin_client: Client) -> None:
    one, other = make_op(), make_op("onto.task.other")
    rule = one.rules.all()[0]
    sent = form_of(admin_client.get(url(PolicyRule, "change", rule.pk)))

    save(admin_client, rule, sent | {"op": str(other.pk)})

    assert sorted(told()) == [("admin", path, "changed", ["policy"]) for path in (one.op, other.op)]


def test_two_admins_do_not_overwrite_each_other_silently(
    admin_client: Client, client: Client, django_user_model: Any
) -> None:
    op = make_op()
    client.force_login(django_user_model.objects.create_superuser("ann"))
    mine, hers = (form_of(each.get(url(Op, "change", op.pk))) for each in (admin_client, client))
    save(client, op, hers | {"summary": "Hers", "rules-0-text": "Her rule"})

    refused = save(admin_client, op, mine | {"summary": "Mine"})

    assert refused.status_code == 200
    op.refresh_from_db()
    assert op.summary == "Hers"
    page = refused.content.decode()
    assert re.search(r"ann changed policy, summary at \d\d:\d\d UTC, after you opened this page", page)
    assert 'value="Mine"' in page
    again = form_of(refused)
    assert save(admin_client, op, again).status_code == 302
    op.refresh_from_db()
    assert op.summary == "Mine"


@pytest.mark.parametrize("seen", ["", "nonsense", "x.99999999999999999999", "\ud7ff.1"])
def test_a_page_that_does_not_say_what_it_saw_saves_nothing_at_first(admin_client: Client, seen: str) -> None:
    op = make_op()
    sent = form_of(admin_client.get(url(Op, "change", op.pk)))

    refused = save(admin_client, op, sent | {"summary": "Mine", "seen": seen})

    assert "Somebody changed it, after you opened this page" in refused.content.decode()
    op.refresh_from_db()
    assert op.summary != "Mine"


def test_a_change_that_no_form_made_is_seen_as_well(admin_client: Client) -> None:
    op = make_op()
    group = Group.objects.get(path="onto")
    for row in (op, op.rules.all()[0], group):
        sent = form_of(admin_client.get(url(type(row), "change", row.pk)))
        Op.objects.filter(pk=op.pk).update(notes=f"Loaded for {row}")
        Group.objects.filter(pk=group.pk).update(summary=f"Loaded for {row}")

        assert "Nothing was saved" in save(admin_client, row, sent).content.decode()


def test_who_may_only_look_is_shown_the_page(client: Client, django_user_model: Any) -> None:
    op = make_op()
    viewer = django_user_model.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client.force_login(viewer)

    for row in (op, op.rules.all()[0], Group.objects.all()[0]):
        page = client.get(url(type(row), "change", row.pk))
        assert page.status_code == 200
        assert 'name="seen"' not in page.content.decode()


def test_changes_are_taken_back_in_the_admin(admin_client: Client) -> None:
    op = make_op()
    for summary in ("First", "Second"):
        save(admin_client, op, form_of(admin_client.get(url(Op, "change", op.pk))) | {"summary": summary})
    first, second = AuditEntry.objects.order_by("id")

    def take_back(*entries: AuditEntry) -> list[str]:
        data = {"action": "take_back", "_selected_action": [entry.pk for entry in entries]}
        response = admin_client.post(reverse("admin:analytics_auditentry_changelist"), data)
        return [str(message) for message in get_messages(response.wsgi_request)]

    assert "changed since, too: summary" in take_back(first)[-1]
    both = take_back(first, second)

    op.refresh_from_db()
    assert op.summary == f"Add {op.op}"
    assert [message.split(":")[0] for message in both[-2:]] == ["Taken back", "Taken back"]


def test_a_release_is_withdrawn_and_restored_in_the_admin(admin_client: Client, published: Release) -> None:
    Op.objects.update(summary="Other")
    newer = releases.publish(note="Test", by="tests", at=AT)

    def withdraw(release: Release, reason: str) -> str:
        data = {"action": "withdraw", "_selected_action": [release.pk], "reason": reason}
        response = admin_client.post(url(Release, "changelist"), data)
        return [str(message) for message in get_messages(response.wsgi_request)][-1]

    assert act(admin_client, Release, "restore", published)[1][-1].startswith(f"The draft is release {published} again")
    assert releases.draft_version() == published.version
    assert act(admin_client, Release, "restore", published)[1][-1] == f"The draft is release {published} already."
    assert "Make another one live first" in withdraw(newer, "Wrong")
    assert "Say why" in withdraw(published, "")
    assert "is withdrawn" in withdraw(published, "Wrong")
    assert "was withdrawn by admin: Wrong" in act(admin_client, Release, "make_live", published)[1][-1]
    assert "was withdrawn by admin: Wrong" in act(admin_client, Op, "publish_draft", Op.objects.all()[0])[1][-1]
    assert releases.live() == newer
