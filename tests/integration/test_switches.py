"""Switched off: refused by exec, left out of help and search, and all as before once it is on again."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client as HttpClient
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from unfold.widgets import UnfoldBooleanWidget

from registry.catalog import switches
from registry.drafts import switch_service
from registry.models import Connection, Group, Op, Switch
from tests.support.admin_models import act, page
from tests.support.api import Api, refused
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.models import Task

UPDATE = {"task_id": DEMO_TASK_ID, "title": "Changed"}
REASON = "Titles are being mended."


def turn(kind: str, name: str, *, is_off: bool = True) -> None:
    switch_service.set_switch(kind=kind, name=name, is_off=is_off, reason=REASON, by="ann", at=timezone.now())
    switches.refresh_switches()  # a test's transaction is never committed


@pytest.mark.parametrize(
    ("kind", "name", "told"),
    [
        ("op", "onto.task.update", "onto.task.update is switched off"),
        ("group", "onto.task", "onto.task.update is switched off with its group onto.task"),
        ("group", "root", "onto.task.update is switched off with its group root"),
        ("connection", "workspace", "onto.task.update is switched off with its connection workspace"),
    ],
)
def test_exec_refuses_what_is_off_and_says_why(api: Api, kind: str, name: str, told: str) -> None:
    turn(kind, name)

    for op in ("onto.task.update", "update_onto_task"):
        for body in ({}, {"dry_run": True}, {"args": {"nonsense": 1}}, {"idempotency_key": "once"}):
            error = refused(api.post("exec", {"op": op, "args": UPDATE, **body}), 403, "switched_off")
            assert error["code"] == "PERMISSION_DENIED"
            assert error["message"] == f"{told}: {REASON} Nothing was done."
            assert api.post("help", {"path": error["help_path"]}).status_code == 200
    assert Task.objects.get(pk=DEMO_TASK_ID).title != "Changed"

    turn(kind, name, is_off=False)
    assert api.exec("onto.task.update", UPDATE, idempotency_key="once")["ok"]


def test_exec_of_all_else_goes_on(api: Api) -> None:
    turn("op", "onto.task.update")

    assert api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})["ok"]
    assert api.exec("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "New"})["ok"]


def test_refusal_is_recorded(api: Api, told: Any) -> None:
    turn("op", "onto.task.update")

    api.exec("onto.task.update", UPDATE)

    event = told()[-1]
    assert (event.op, event.ok, event.code, event.reason) == (
        "onto.task.update",
        False,
        "PERMISSION_DENIED",
        "switched_off",
    )


def test_replay_is_answered_still(api: Api) -> None:
    first = api.exec("onto.task.update", UPDATE, idempotency_key="once")
    turn("op", "onto.task.update")

    again = api.post("exec", {"op": "onto.task.update", "args": UPDATE, "idempotency_key": "once"})

    assert again.status_code == 200
    assert again.json()["result"] == first["result"]
    assert again.json()["meta"]["replayed"] is True


def test_batch_refuses_what_is_off_and_runs_the_rest(api: Api) -> None:
    turn("op", "onto.task.update")

    told = api.post(
        "batch",
        {
            "ops": [
                {"type": "exec", "op": "onto.task.update", "args": UPDATE},
                {"type": "exec", "op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}},
                {"type": "help", "path": "onto.task.update"},
            ]
        },
    ).json()

    refusal, run, read = told["results"]
    assert (refusal["ok"], refusal["error"]["details"]["reason"]) == (False, "switched_off")
    assert run["ok"]
    assert (read["ok"], read["error"]["details"]["reason"]) == (False, "unknown_path")


def test_a_caller_who_may_not_run_it_is_told_that_first(api: Api, another: Any) -> None:
    turn("op", "onto.task.update")

    error = refused(
        another(op_patterns=["util.*"]).post("exec", {"op": "onto.task.update", "args": UPDATE}), 403, "op_not_allowed"
    )

    assert REASON not in error["message"]


def test_what_is_off_asks_nobody_to_confirm(api: Api, another: Any) -> None:
    turn("op", "onto.task.delete")

    refused(
        another(confirms=True).post("exec", {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}}),
        403,
        "switched_off",
    )


def test_nothing_stands_in_that_is_off(api: Api) -> None:
    assert api.exec("onto.task.get")["ok"]
    turn("op", "onto.task.list")

    refused(api.post("exec", {"op": "onto.task.get", "args": {}}), 400, "invalid_args")


def test_help_and_search_leave_out_what_is_off_and_take_it_back(api: Api) -> None:
    def listed() -> set[str]:
        found = api.help("onto.task")["items"] + api.help(query="delete a task", limit=20)["items"]
        return {item["path"] for item in found}

    before = api.get("help?path=onto.task")
    assert "onto.task.delete" in listed()

    turn("op", "onto.task.delete")
    assert "onto.task.delete" not in listed()
    assert api.get("help?path=onto.task").headers["ETag"] != before.headers["ETag"]
    error = refused(api.get("help?path=onto.task.delete"), 404, "unknown_path")
    assert error["message"] == f"onto.task.delete is switched off: {REASON}"
    assert error["help_path"] == "onto.task"

    turn("op", "onto.task.delete", is_off=False)
    assert "onto.task.delete" in listed()
    assert api.get("help?path=onto.task").headers["ETag"] == before.headers["ETag"]


def test_a_group_that_is_off_is_not_listed_and_what_lies_beside_it_is(api: Api) -> None:
    turn("group", "onto.task")

    assert "onto.task" not in {item["path"] for item in api.help("onto")["items"]}
    refused(api.post("help", {"path": "onto.task"}), 404, "unknown_path")
    refused(api.post("help", {"path": "onto.task.docs"}), 404, "unknown_path")
    assert api.help("onto.project.get")["type"] == "op"


def test_a_switch_costs_no_query(api: Api, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    turn("op", "onto.task.update")
    api.help("onto.task")

    with django_assert_num_queries(0):
        api.help("onto.task")
        api.post("exec", {"op": "onto.task.update", "args": UPDATE})


# --- in the admin -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "kind", "field", "name"),
    [
        (Op, "op", "op", "onto.task.update"),
        (Group, "group", "path", "onto.task"),
        (Connection, "connection", "name", "workspace"),
    ],
)
def test_rows_are_switched_where_they_are_listed(
    api: Api, admin_client: HttpClient, model: Any, kind: str, field: str, name: str
) -> None:
    row = model.objects.get(**{field: name})

    def action(named: str, **data: str) -> str:
        data |= {"action": named, "_selected_action": str(row.pk)}
        return admin_client.post(page(model, "changelist"), data, follow=True).content.decode()

    assert "Give a reason." in action("switch_off")
    assert not Switch.objects.exists()
    assert f"Switched off: {name}." in action("switch_off", reason=REASON)
    switch = Switch.objects.get()
    assert (switch.kind, switch.name, switch.is_off, switch.reason) == (kind, name, True, REASON)
    assert switch.changed_by == "admin"
    assert "Nothing changed" in action("switch_off", reason=REASON)
    assert f"Switched on: {name}." in action("switch_on")
    assert not Switch.objects.get().is_off


@pytest.mark.parametrize(
    ("kind", "name"), [("op", "onto.task.update"), ("group", "onto.task"), ("connection", "workspace")]
)
def test_what_is_off_is_marked_where_it_is_listed_and_on_its_page(
    api: Api, admin_client: HttpClient, kind: str, name: str
) -> None:
    op, group = Op.objects.get(op="onto.task.update"), Group.objects.get(path="onto.task")

    def off() -> list[bool]:
        listed = [admin_client.get(page(model, "changelist"), {"q": "task"}) for model in (Op, Group)]
        listed.append(admin_client.get(page(Connection, "changelist")))
        pages = [admin_client.get(page(Op, "change", op.pk)), admin_client.get(page(Group, "change", group.pk))]
        return [REASON in response.content.decode() for response in (*listed, *pages)]

    assert off() == [False] * 5
    turn(kind, name)
    assert off() == [True, kind == "group", kind == "connection", True, kind == "group"]
    turn(kind, name, is_off=False)
    assert off() == [False] * 5


def test_a_switch_is_made_and_turned_by_hand(api: Api, admin_client: HttpClient) -> None:
    form = {"kind": "op", "name": "onto.task.updat", "is_off": "on", "reason": REASON}

    wrong = admin_client.post(page(Switch, "add"), form)
    right = admin_client.post(page(Switch, "add"), form | {"name": "onto.task.update"})

    assert (
        "There is no op onto.task.updat. Did you mean onto.task.update, onto.risk.update, onto.task.get?"
        in wrong.content.decode()
    )
    assert right.status_code == 302
    switch = Switch.objects.get()
    assert (switch.is_off, switch.changed_by) == (True, "admin")
    admin_client.post(page(Switch, "change", switch.pk), {"is_off": "on", "reason": "Another reason"})
    switch.refresh_from_db()
    assert (switch.name, switch.reason) == ("onto.task.update", "Another reason")
    assert "Switched on: onto.task.update" in act(admin_client, Switch, "turn_on", switch)
    assert "Switched off: onto.task.update" not in act(admin_client, Switch, "turn_off", switch)  # no reason is left
    assert admin_client.post(page(Switch, "delete", switch.pk), {"post": "yes"}).status_code == 403


def test_a_switchs_page_says_off_without_a_green_one(
    api: Api, admin_client: HttpClient, client: HttpClient, django_user_model: type[User]
) -> None:
    turn("op", "onto.task.update")
    address = page(Switch, "change", Switch.objects.get().pk)
    reader = django_user_model.objects.create_user("reader", is_staff=True)
    reader.user_permissions.set(Permission.objects.filter(codename="view_switch"))
    client.force_login(reader)

    changed = admin_client.get(address)
    looked_at = client.get(address).content.decode()

    box = changed.context["adminform"].form["is_off"]
    assert (box.label, type(box.field.widget)) == ("Switched off", UnfoldBooleanWidget)
    assert '<span class="desk-tag desk-removed">off</span>' in looked_at
    assert "Is off" not in looked_at


def test_switching_needs_its_permission(api: Api, client: HttpClient, django_user_model: type[User]) -> None:
    editor = django_user_model.objects.create_user("editor", password="a long enough one", is_staff=True)
    editor.user_permissions.set(Permission.objects.filter(codename__in=["view_op", "change_op", "view_switch"]))
    client.force_login(editor)
    data = {"action": "switch_off", "_selected_action": str(Op.objects.all()[0].pk), "reason": REASON}

    client.post(page(Op, "changelist"), data, follow=True)

    assert not Switch.objects.exists()
