"""Forms of copy record every change, and refuse to overwrite a change that the user has not seen."""

import re
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from audit.models import AuditEntry
from registry.models import Group, Op, PolicyRule
from tests.support.console.admin_pages import get_registry_url, open_form, read_form, save_row
from tests.support.loops import for_each
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db


def list_changes() -> list[tuple[str, str, str, list[str]]]:
    return [(e.by, e.name, e.action, sorted(e.changes)) for e in AuditEntry.objects.order_by("id")]


def test_only_a_change_of_a_form_is_recorded_with_old_and_new_value(admin_client: Client) -> None:
    op = make_op(description="One line.\nAnother.", notes="a\n\nb")
    sent = open_form(admin_client, op)

    save_row(admin_client, op, {name: value.replace("\n", "\r\n") for name, value in sent.items()})  # as a browser does
    op.refresh_from_db()
    assert (op.description, op.notes) == ("One line.\nAnother.", "a\n\nb")
    assert list_changes() == []

    sent = open_form(admin_client, op) | {"summary": "New", "rules-0-text": "Another rule"}
    assert save_row(admin_client, op, sent).status_code == 302
    assert list_changes() == [("admin", op.op, "changed", ["policy", "summary"])]
    entry = AuditEntry.objects.get()
    assert entry.changes["summary"] == [f"Add {op.op}", "New"]
    assert entry.changes["policy"][0] != entry.changes["policy"][1]


@pytest.mark.both_databases
def test_added_and_removed_rows_are_recorded(admin_client: Client) -> None:
    op = make_op()
    PolicyRule.objects.all().delete()

    admin_client.post(get_registry_url(Group, "add"), {"path": "util", "summary": "Utilities"})
    group = Group.objects.get(path="util")
    admin_client.post(get_registry_url(PolicyRule, "add"), {"op": op.pk, "kind": "do", "text": "First", "position": 0})
    admin_client.post(get_registry_url(PolicyRule, "delete", PolicyRule.objects.get().pk), {"post": "yes"})
    act_on = {"action": "delete_selected", "_selected_action": [op.pk], "post": "yes"}
    admin_client.post(get_registry_url(Op, "changelist"), act_on)
    admin_client.post(get_registry_url(Group, "delete", group.pk), {"post": "yes"})

    assert [(name, action, fields[-1:]) for _, name, action, fields in list_changes()] == [
        ("util", "added", []),
        (op.op, "changed", ["policy"]),
        (op.op, "changed", ["policy"]),
        (op.op, "removed", ["tool_name"]),
        ("util", "removed", ["summary"]),
    ]


def test_moving_a_rule_to_another_op_changes_both_ops(admin_client: Client) -> None:
    one, other = make_op(), make_op("onto.task.other")
    rule = one.rules.all()[0]
    sent = open_form(admin_client, rule)

    save_row(admin_client, rule, sent | {"op": str(other.pk)})

    assert sorted(list_changes()) == [("admin", path, "changed", ["policy"]) for path in (one.op, other.op)]


def test_save_is_refused_when_another_admin_saved_meanwhile(
    admin_client: Client, client: Client, django_user_model: Any
) -> None:
    op = make_op()
    client.force_login(django_user_model.objects.create_superuser("ann"))
    mine, hers = (open_form(each, op) for each in (admin_client, client))
    save_row(client, op, hers | {"summary": "Hers", "rules-0-text": "Her rule"})

    refused = save_row(admin_client, op, mine | {"summary": "Mine"})

    assert refused.status_code == 200
    op.refresh_from_db()
    assert op.summary == "Hers"
    page = refused.content.decode()
    assert re.search(r"ann changed policy, summary at \d\d:\d\d UTC, after you opened this page", page)
    assert 'value="Mine"' in page
    again = read_form(refused)
    assert save_row(admin_client, op, again).status_code == 302
    op.refresh_from_db()
    assert op.summary == "Mine"


@for_each("stamp", ["", "nonsense", "x.99999999999999999999", "\ud7ff.1"], undone=True)
def test_form_without_its_version_saves_nothing_at_first(admin_client: Client, stamp: str) -> None:
    op = make_op()
    sent = open_form(admin_client, op)

    refused = save_row(admin_client, op, sent | {"summary": "Mine", "seen": stamp})

    assert "Someone changed it, after you opened this page" in refused.content.decode()
    op.refresh_from_db()
    assert op.summary != "Mine"


@pytest.mark.both_databases
def test_save_is_refused_when_other_code_changed_the_row(admin_client: Client) -> None:
    op = make_op()
    group = Group.objects.get(path="onto")
    for row in (op, op.rules.all()[0], group):
        sent = open_form(admin_client, row)
        Op.objects.filter(pk=op.pk).update(notes=f"Loaded for {row}")
        Group.objects.filter(pk=group.pk).update(summary=f"Loaded for {row}")

        assert "Nothing was saved" in save_row(admin_client, row, sent).content.decode()


@pytest.mark.both_databases
def test_admin_reverts_changes(admin_client: Client) -> None:
    op = make_op()
    for summary in ("First", "Second"):
        save_row(admin_client, op, open_form(admin_client, op) | {"summary": summary})
    first, second = AuditEntry.objects.order_by("id")

    def revert(*entries: AuditEntry) -> list[str]:
        data = {"action": "take_back", "_selected_action": [entry.pk for entry in entries]}
        response = admin_client.post(reverse("admin:audit_auditentry_changelist"), data)
        return [str(message) for message in get_messages(response.wsgi_request)]

    assert "changed again later: summary" in revert(first)[-1]
    both = revert(first, second)

    op.refresh_from_db()
    assert op.summary == f"Add {op.op}"
    assert [message.split(":")[0] for message in both[-2:]] == ["Reverted in the draft", "Reverted in the draft"]


@pytest.mark.both_databases
def test_entry_is_reverted_after_a_preview(admin_client: Client) -> None:
    op = make_op()
    sent = open_form(admin_client, op)
    save_row(admin_client, op, sent | {"summary": "Other words", "keywords": "note\njot down"})
    entry = AuditEntry.objects.get(kind="op")
    address = reverse("admin:registry_change_revert", args=[entry.pk])

    assert address in admin_client.get(reverse("admin:audit_auditentry_change", args=[entry.pk])).content.decode()
    preview = admin_client.get(address).content.decode()
    assert "<del>Other words</del><ins>Add onto.task.add</ins>" in preview
    assert "<del>note\njot down\n</del>" in preview  # a list as lines, not as JSON
    op.refresh_from_db()
    assert op.summary == "Other words"

    done = admin_client.post(address, follow=True)
    op.refresh_from_db()
    assert (op.summary, op.keywords) == ("Add onto.task.add", [])
    assert "Reverted in the draft: op onto.task.add changed." in done.content.decode()
    again = admin_client.post(address).content.decode()
    assert "was changed again later" in again
    page = admin_client.get(reverse("admin:audit_auditentry_change", args=[entry.pk])).content.decode()
    assert address not in page
