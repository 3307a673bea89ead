"""Forms of copy: every change is written down, and nobody overwrites what they have not seen."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from analytics.models import AuditEntry
from registry.models import Group, Op, PolicyRule
from tests.support.admin_pages import form_of, save, url
from tests.support.copy_rows import make_op

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]


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

    assert "Someone changed it, after you opened this page" in refused.content.decode()
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

    assert "changed again later: summary" in take_back(first)[-1]
    both = take_back(first, second)

    op.refresh_from_db()
    assert op.summary == f"Add {op.op}"
    assert [message.split(":")[0] for message in both[-2:]] == ["Reverted in the draft", "Reverted in the draft"]
