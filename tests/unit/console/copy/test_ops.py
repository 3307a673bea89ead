"""Ops in the console: how they are edited, and what their form refuses."""

import csv
import io
import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analytics.events.models import OperationEvent
from audit.models import AuditEntry
from registry.models import Op
from tests.support.console.admin_pages import get_registry_url, open_form, read, save_row
from tests.support.rows.copy_rows import make_op

pytestmark = pytest.mark.django_db


def test_ops_can_be_downloaded_as_csv(admin_client: Client) -> None:
    chosen, _ = make_op(summary="=1+1"), make_op("onto.task.other")

    data = {"action": "export_csv", "_selected_action": [chosen.pk]}
    response = admin_client.post(get_registry_url(Op, "changelist"), data)

    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert [(row["op"], row["summary"]) for row in rows] == [("onto.task.add", "'=1+1")]


def test_selected_ops_are_changed_on_a_page_that_asks_what(admin_client: Client) -> None:
    url, chosen, other = get_registry_url(Op, "changelist"), make_op(), make_op("onto.task.other")
    selected = {"action": "change_selected", "_selected_action": [chosen.pk, other.pk]}

    asked = admin_client.post(url, selected)
    empty = admin_client.post(url, selected | {"apply": "1"})
    wrong = admin_client.post(url, selected | {"apply": "1", "group": "nowhere"})
    done = admin_client.post(url, selected | {"apply": "1", "confirm": "on", "timeout_ms": "900"}, follow=True)

    assert "Change 2 ops" in read(asked)
    assert "onto.task.add, onto.task.other." in read(asked)
    assert "Choose what to change." in read(empty)
    assert "The group nowhere does not exist. Add it first." in read(wrong)
    assert "Changed 2 ops in the draft." in read(done)
    assert set(Op.objects.values_list("confirm", "timeout_ms", "status")) == {(True, 900, "active")}


def test_list_is_filtered_by_services_and_their_groups(admin_client: Client) -> None:
    for path in ("onto.task.add", "onto.goal.add", "crm.deal.add"):
        make_op(path)

    page: Any = admin_client.get(get_registry_url(Op, "changelist"), {"q": "add", "group": "onto.goal"})

    links = page.context["cl"].group_links
    assert [op.op for op in page.context["cl"].result_list] == ["onto.goal.add"]
    assert [(each.path, each.op_count, each.is_open) for each in links] == [("crm", 1, False), ("onto", 2, True)]
    assert [(each.path, each.op_count, each.is_current) for each in links[1].groups] == [
        ("onto.goal", 1, True),
        ("onto.task", 1, False),
    ]
    assert {"group": ["crm"], "q": ["add"]}.items() <= parse_qs(links[0].url.removeprefix("?")).items()


def test_cleared_json_field_is_stored_as_empty(admin_client: Client) -> None:
    op = make_op()
    sent = open_form(admin_client, op)
    emptied = dict.fromkeys(("contexts", "keywords", "argument_aliases", "display_only"), "")

    assert (
        save_row(admin_client, op, sent | emptied | {"examples-0-args": ""}).status_code == 200
    )  # the op needs a title
    response = save_row(admin_client, op, sent | emptied)

    op.refresh_from_db()
    assert response.status_code == 302
    assert (op.contexts, op.keywords, op.argument_aliases, op.display_only) == ([], [], {}, [])


def test_page_shows_why_calls_failed_with_the_way_to_a_rule(admin_client: Client) -> None:
    op = make_op(parameters_schema={"type": "object", "properties": {"state_key": {"enum": ["todo", "done"]}}})
    error = {"ok": False, "status": 400, "code": "VALIDATION_ERROR", "reason": "invalid_args"}
    fields = {"type": "exec", "op": op.op, "tool_name": op.tool_name, "time": timezone.now(), "latency_ms": 1.0}
    for pairs in ([["/state_key", "enum"]], [["/state_key", "enum"]], [["/status", "unknown_argument"]]):
        OperationEvent.objects.create(**fields, **error, field_errors=pairs)

    page = unescape(admin_client.get(reverse("admin:registry_op_change", args=[op.pk])).content.decode())

    causes = page.partition('id="op-failures"')[2].partition("</section>")[0]
    assert "state_key: not an allowed value" in causes
    assert re.search(r'problem=VALIDATION_ERROR%7Cinvalid_args%7C%2Fstate_key%7Cenum">2 calls</a>', causes)
    assert re.search(r"edit=do&.*text=Send\+state_key\+as\+one\+of", causes)
    assert ">Add argument alias</a>" in causes


def test_schema_keeps_its_formatting_until_it_is_changed_elsewhere(admin_client: Client) -> None:
    op = make_op()
    typed = '{"type": "object",\n    "properties": {"title": {"type": "string"},\n\t\t"a": {"default": 1}}}'
    sent = open_form(admin_client, op)

    response = save_row(admin_client, op, sent | {"parameters_schema": typed.replace("\n", "\r\n")})
    again = open_form(admin_client, op)

    assert response.status_code == 302
    assert again["parameters_schema"] == typed
    assert save_row(admin_client, op, again).status_code == 302
    assert AuditEntry.objects.count() == 1
    properties = {"title": {"type": "string"}, "a": {"default": True}}  # changed elsewhere
    Op.objects.update(parameters_schema={"type": "object", "properties": properties})
    stored = open_form(admin_client, op)["parameters_schema"]
    assert stored.startswith('{\n  "type": "object"')
    assert '"default": true' in stored


def test_renamed_op_keeps_its_old_path_as_an_alias(admin_client: Client) -> None:
    op = make_op()

    response = save_row(admin_client, op, open_form(admin_client, op) | {"op": "onto.task.new"})

    assert response.status_code == 302
    assert Op.objects.get(aliases__name="onto.task.add").op == "onto.task.new"
    assert "onto.task.add" in AuditEntry.objects.get(name="onto.task.new").changes["aliases"][1]
    op.refresh_from_db()
    save_row(admin_client, op, open_form(admin_client, op) | {"op": "onto.task.add"})  # and back
    aliases = set(op.aliases.values_list("name", flat=True))
    assert "onto.task.new" in aliases
    assert "onto.task.add" not in aliases


def test_op_page_lists_its_last_changes(admin_client: Client) -> None:
    op = make_op()
    save_row(admin_client, op, open_form(admin_client, op) | {"summary": "Add a task"})

    page = admin_client.get(get_registry_url(Op, "change", op.pk)).content.decode()

    history = page.partition('id="part-history"')[2].partition("</section>")[0]
    assert "changed by admin: summary Add onto.task.add → Add a task" in " ".join(history.split())
