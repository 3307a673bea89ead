"""Switches: exec refuses what is off, help and search leave it out, and switching on restores everything."""

from typing import Any

from django.test import Client as HttpClient
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from registry.catalog import switches
from registry.drafts import switch_service
from registry.models import Connection, Group, Op, Switch
from tests.support.clients.api import Api, assert_refused
from tests.support.console.admin_models import get_admin_url, run_action
from tests.support.loops import for_each
from workspace.demo import DEMO_TASK_ID
from workspace.models import Task

UPDATE = {"task_id": DEMO_TASK_ID, "title": "Changed"}
REASON = "Titles are being repaired."


def set_switch(kind: str, name: str, *, is_off: bool = True) -> None:
    switch_service.set_switch(kind=kind, name=name, is_off=is_off, reason=REASON, by="ann", at=timezone.now())
    switches.refresh_switches()  # a test's transaction does not commit, so nothing else refreshes them


@for_each(
    "kind, name, message",
    [
        ("op", "onto.task.update", "onto.task.update is switched off"),
        ("group", "onto.task", "onto.task.update is switched off with its group onto.task"),
        ("group", "root", "onto.task.update is switched off with its group root"),
        ("connection", "workspace", "onto.task.update is switched off with its connection workspace"),
    ],
    undone=True,
)
def test_exec_refuses_ops_that_are_off_with_the_reason(api: Api, kind: str, name: str, message: str) -> None:
    set_switch(kind, name)

    for op in ("onto.task.update", "update_onto_task"):
        for body in ({}, {"dry_run": True}, {"args": {"nonsense": 1}}, {"idempotency_key": "once"}):
            error = assert_refused(api.post("exec", {"op": op, "args": UPDATE, **body}), 403, "switched_off")
            assert error["code"] == "PERMISSION_DENIED"
            assert error["message"] == f"{message}: {REASON} Nothing was done."
            assert api.post("help", {"path": error["help_path"]}).status_code == 200
    assert Task.objects.get(pk=DEMO_TASK_ID).title != "Changed"

    set_switch(kind, name, is_off=False)
    assert api.exec("onto.task.update", UPDATE, idempotency_key="once")["ok"]


def test_batch_refuses_ops_that_are_off_and_runs_the_others(api: Api) -> None:
    set_switch("op", "onto.task.update")

    response = api.post(
        "batch",
        {
            "ops": [
                {"type": "exec", "op": "onto.task.update", "args": UPDATE},
                {"type": "exec", "op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}},
                {"type": "help", "path": "onto.task.update"},
            ]
        },
    ).json()

    refusal, exec_result, help_result = response["results"]
    assert (refusal["ok"], refusal["error"]["details"]["reason"]) == (False, "switched_off")
    assert exec_result["ok"]
    assert (help_result["ok"], help_result["error"]["details"]["reason"]) == (False, "unknown_path")


def test_switch_comes_after_the_permission_and_before_the_confirmation(api: Api, make_api: Any) -> None:
    set_switch("op", "onto.task.update")
    set_switch("op", "onto.task.delete")
    update = {"op": "onto.task.update", "args": UPDATE}
    delete = {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}}

    error = assert_refused(make_api(op_patterns=["util.*"]).post("exec", update), 403, "op_not_allowed")
    assert REASON not in error["message"]
    assert_refused(make_api(confirms=True).post("exec", delete), 403, "switched_off")


def test_list_op_does_not_replace_a_get_when_it_is_off(api: Api) -> None:
    assert api.exec("onto.task.get")["ok"]
    set_switch("op", "onto.task.list")

    assert_refused(api.post("exec", {"op": "onto.task.get", "args": {}}), 400, "invalid_args")


def test_switch_needs_no_query(api: Api, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    set_switch("op", "onto.task.update")
    api.help("onto.task")

    with django_assert_num_queries(0):
        api.help("onto.task")
        api.post("exec", {"op": "onto.task.update", "args": UPDATE})


# --- in the console ---------------------------------------------------------------------------------------------------


@for_each(
    "model, kind, field, name",
    [
        (Op, "op", "op", "onto.task.update"),
        (Group, "group", "path", "onto.task"),
        (Connection, "connection", "name", "workspace"),
    ],
    undone=True,
)
def test_admin_actions_switch_rows_off_and_on(
    api: Api, admin_client: HttpClient, model: Any, kind: str, field: str, name: str
) -> None:
    row = model.objects.get(**{field: name})

    def apply_action(name: str, **data: str) -> str:
        data |= {"action": name, "_selected_action": str(row.pk)}
        return admin_client.post(get_admin_url(model, "changelist"), data, follow=True).content.decode()

    assert "Write a few words: why it is off" in apply_action("switch_off")
    assert not Switch.objects.exists()
    assert f"Switched off: {name}." in apply_action("switch_off", reason=REASON)
    switch = Switch.objects.get()
    assert (switch.kind, switch.name, switch.is_off, switch.reason) == (kind, name, True, REASON)
    assert switch.changed_by == "admin"
    assert "Nothing changed" in apply_action("switch_off", reason=REASON)
    assert f"Switched on: {name}." in apply_action("switch_on")
    assert not Switch.objects.get().is_off


@for_each("kind, name", [("op", "onto.task.update"), ("group", "onto.task"), ("connection", "workspace")], undone=True)
def test_admin_marks_rows_that_are_off_in_lists_and_on_pages(
    api: Api, admin_client: HttpClient, kind: str, name: str
) -> None:
    op, group = Op.objects.get(op="onto.task.update"), Group.objects.get(path="onto.task")

    def read_marks() -> list[bool]:
        lists = [admin_client.get(get_admin_url(model, "changelist"), {"q": "task"}) for model in (Op, Group)]
        lists.append(admin_client.get(get_admin_url(Connection, "changelist")))
        pages = [
            admin_client.get(get_admin_url(Op, "change", op.pk)),
            admin_client.get(get_admin_url(Group, "change", group.pk)),
        ]
        return [REASON in response.content.decode() for response in (*lists, *pages)]

    assert read_marks() == [False] * 5
    set_switch(kind, name)
    assert read_marks() == [True, kind == "group", kind == "connection", True, kind == "group"]
    set_switch(kind, name, is_off=False)
    assert read_marks() == [False] * 5


def test_switch_is_changed_in_the_admin_and_added_only_where_its_op_is_chosen(
    api: Api, admin_client: HttpClient
) -> None:
    set_switch("op", "onto.task.update")
    switch = Switch.objects.get()

    assert admin_client.get(get_admin_url(Switch, "add")).status_code == 403
    admin_client.post(get_admin_url(Switch, "change", switch.pk), {"is_off": "on", "reason": "Another reason"})
    switch.refresh_from_db()
    assert (switch.name, switch.reason) == ("onto.task.update", "Another reason")
    assert "Switched on: onto.task.update" in run_action(admin_client, Switch, "turn_on", switch)
    unexplained = run_action(admin_client, Switch, "turn_off", switch)
    assert "Switched off: onto.task.update" not in unexplained
    assert admin_client.post(get_admin_url(Switch, "delete", switch.pk), {"post": "yes"}).status_code == 403


def test_op_is_switched_off_and_on_from_its_page(api: Api, admin_client: HttpClient) -> None:
    op = Op.objects.get(op="onto.task.update")
    page, chosen = get_admin_url(Op, "change", op.pk), {"_selected_action": op.pk, "from_page": "1"}
    address = get_admin_url(Op, "changelist")

    missing = admin_client.post(address, {**chosen, "action": "switch_off", "reason": ""}, follow=True)
    off = admin_client.post(address, {**chosen, "action": "switch_off", "reason": REASON}, follow=True)
    assert missing.redirect_chain[-1][0] == off.redirect_chain[-1][0] == page
    assert "Switch off now" in missing.content.decode()
    assert Switch.objects.get(is_off=True).reason == REASON
    assert "Switch on again" in off.content.decode()

    on = admin_client.post(address, {**chosen, "action": "switch_on"}, follow=True)
    assert "Switch off now" in on.content.decode()
