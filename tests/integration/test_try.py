"""Trying an op from the admin: the answer is the API's, nothing is kept but the event, and no figure counts it."""

import html
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics import reports
from analytics.events import event_log
from analytics.models import OperationEvent
from analytics.rollups import rollup_job
from registry.catalog import model, switches
from registry.drafts import switch_service
from registry.models import Connection, Op, Release
from registry.releases import publishing
from tests.support.api import Api
from workspace.demo import DEMO_SUBJECT
from workspace.models import Task

pytestmark = pytest.mark.usefixtures("api")


def op(path: str) -> Op:
    return Op.objects.get(op=path)


def page(path: str) -> str:
    return reverse("admin:op_try", args=[op(path).pk])


def attempt(client: HttpClient, path: str, args: Any, *, subject: str = DEMO_SUBJECT, under: str = "draft") -> Any:
    text = args if isinstance(args, str) else json.dumps(args)
    return client.post(page(path), {"args": text, "subject": subject, "under": under})


def answer(response: HttpResponse) -> dict[str, Any]:
    assert response.status_code == 200
    shown = re.search(r'<pre[^>]*aria-label="Answer">(.*?)</pre>', response.content.decode(), re.S)
    assert shown, response.content.decode()
    return json.loads(html.unescape(shown[1]))


def steady(envelope: dict[str, Any]) -> dict[str, Any]:
    """An envelope without what differs from call to call."""
    meta = {name: value for name, value in envelope["meta"].items() if name not in ("trace_id", "latency_ms")}
    told = {**envelope, "meta": meta}
    if rows := told.get("result", {}).get("task"):
        rows.pop("updated_at", None), rows.pop("completed_at", None)
    return told


@pytest.mark.parametrize("under", ["draft", "live"])
@pytest.mark.parametrize(
    ("path", "args"),
    [
        ("onto.task.list", {"limit": 2}),
        ("onto.task.update", "the example's"),
        ("onto.task.update", {"task_id": "nonsense", "state_key": "gone"}),
        ("onto.task.update", {"task_id": "2b7e1a4c-8d3f-4e6a-9c5b-1f0d2e3a4b5c", "state_key": "done"}),
        ("onto.task.delete", "the example's"),
    ],
)
def test_answer_is_the_one_of_the_api(api: Api, admin_client: HttpClient, path: str, args: Any, under: str) -> None:
    args = op(path).examples.all()[0].args if isinstance(args, str) else args
    version = "draft" if under == "draft" else Release.objects.get().version

    tried = answer(attempt(admin_client, path, args, under=version))

    assert steady(tried) == steady(api.exec(path, args, dry_run=True))


def test_writing_is_undone_and_its_event_names_who_tried_it(admin_client: HttpClient) -> None:
    before = list(Task.objects.order_by("pk").values())
    args = op("onto.task.update").examples.all()[0].args

    tried = attempt(admin_client, "onto.task.update", args)
    attempt(admin_client, "onto.task.get", {"task_id": args["task_id"]})
    event_log.flush()

    assert answer(tried)["ok"]
    assert answer(tried)["meta"]["dry_run"]
    assert list(Task.objects.order_by("pk").values()) == before
    kept = OperationEvent.objects.order_by("time").values_list(
        "op", "source", "client", "key", "subject", "release", "dry_run"
    )
    assert list(kept) == [
        ("onto.task.update", "admin", "admin admin", "admin", DEMO_SUBJECT, "draft", True),
        ("onto.task.get", "admin", "admin admin", "admin", DEMO_SUBJECT, "draft", True),
    ]
    assert f"?q={answer(tried)['meta']['trace_id']}" in tried.content.decode()


def test_no_figure_counts_what_was_tried(admin_client: HttpClient) -> None:
    for args in ({"task_id": "x"}, "{", "[]", "{}"):
        attempt(admin_client, "onto.task.update", args)
    event_log.flush()
    at = timezone.now() + timedelta(seconds=1)

    rollup_job.run(at)

    assert OperationEvent.objects.filter(ok=False).count() == 4
    assert reports.get_op_figures("onto.task.update", at=at) == reports.OpFigures()


@pytest.mark.parametrize(
    ("args", "status", "reason"),
    [
        ("{", "400 Bad Request", "invalid_json"),
        ('{"task_id": 1, "task_id": 2}', "400 Bad Request", "duplicate_key"),
        ('{}, "dry_run": false', "400 Bad Request", "invalid_json"),
        ("[]", "400 Bad Request", "malformed_call"),
        ('"{}"', "400 Bad Request", "malformed_call"),
        ("{}", "400 Bad Request", "invalid_args"),
    ],
)
def test_what_the_api_refuses_is_refused_in_its_words(
    admin_client: HttpClient, args: str, status: str, reason: str
) -> None:
    response = attempt(admin_client, "onto.task.update", args)

    assert status in response.content.decode()
    assert answer(response)["error"]["details"]["reason"] == reason


def test_subject_sees_what_they_may_see(admin_client: HttpClient) -> None:
    task = op("onto.task.get").examples.all()[0].args

    assert answer(attempt(admin_client, "onto.task.get", task))["ok"]
    stranger = answer(attempt(admin_client, "onto.task.get", task, subject="nobody"))
    nobody = answer(attempt(admin_client, "onto.task.get", task, subject=""))
    odd = attempt(admin_client, "onto.task.get", task, subject="a b")

    assert stranger["error"]["code"] == "NOT_FOUND"
    assert nobody["error"]["details"]["reason"] == "subject_required"
    assert "A subject has 1 to 200 visible ASCII characters." in odd.content.decode()


def test_draft_is_tried_before_it_is_live(api: Api, admin_client: HttpClient) -> None:
    target = op("onto.task.update")
    target.parameters_schema["properties"]["reason"] = {"type": "string"}
    target.parameters_schema["required"] = ["task_id", "reason"]
    target.save()
    args = target.examples.all()[0].args
    target.examples.all().delete()  # which the draft's schema refuses by now
    live = Release.objects.get().version

    drafted, served = (answer(attempt(admin_client, target.op, args, under=under)) for under in ("draft", live))

    assert [error["path"] for error in drafted["error"]["details"]["field_errors"]] == ["/reason"]
    assert served["ok"]
    assert api.exec(target.op, args, dry_run=True)["ok"]
    assert model.get_live_catalog().ops[target.op].required == {"task_id"}


def test_draft_that_cannot_run_says_so_and_the_live_one_is_offered(admin_client: HttpClient) -> None:
    Op.objects.filter(op="onto.task.get").update(parameters_schema={"type": "object", "$ref": "http://elsewhere/"})

    shown = admin_client.get(page("onto.task.get")).content.decode()
    refused = attempt(admin_client, "onto.task.get", {})

    assert "The draft cannot run: A $ref points outside the schema." in shown
    assert "Live release" in shown
    assert "Select a valid choice" in refused.content.decode()


def test_op_that_is_not_live_yet_runs_as_the_draft_says(admin_client: HttpClient) -> None:
    connection = Connection.objects.get(name="workspace")
    lone = Op.objects.create(op="onto.lone", tool_name="lone", kind="read", summary="Lone", connection=connection)

    shown = admin_client.get(page("onto.lone")).content.decode()
    tried = answer(attempt(admin_client, lone.op, {}))

    assert "Live release" not in shown
    assert tried["error"]["code"] == "INTERNAL"  # nothing runs it


def test_switched_off_op_is_refused(admin_client: HttpClient) -> None:
    switch_service.set_switch(
        kind="op", name="onto.task.list", is_off=True, reason="Slow", by="tests", at=timezone.now()
    )
    switches.refresh_switches()

    assert answer(attempt(admin_client, "onto.task.list", {}))["error"]["details"]["reason"] == "switched_off"


def test_nothing_runs_before_anything_is_live(admin_client: HttpClient) -> None:
    publishing.Activation.objects.all().delete()
    Release.objects.all().delete()
    model.clear_cache()

    shown = admin_client.get(page("onto.task.get")).content.decode()

    assert "No release is live." in shown
    assert "<textarea" not in shown


def test_args_are_those_of_an_example(admin_client: HttpClient) -> None:
    examples = list(op("onto.task.update").examples.all())

    def filled(chosen: str) -> Any:
        shown = admin_client.get(page("onto.task.update"), {"example": chosen}).content.decode()
        return json.loads(html.unescape(re.search(r"<textarea[^>]*>(.*?)</textarea>", shown, re.S)[1]))

    assert filled("") == filled("0") == filled("99") == filled("x") == examples[0].args
    assert filled("1") == examples[1].args
    op("onto.task.update").examples.all().delete()
    assert filled("").keys() == {"task_id"}


def test_only_who_may_change_ops_tries_them(client: HttpClient, django_user_model: type[User]) -> None:
    client.force_login(django_user_model.objects.create_user("auditor", is_staff=True))

    assert client.get(page("onto.task.get")).status_code == 403
    assert attempt(client, "onto.task.get", {}).status_code == 403
    assert not OperationEvent.objects.exists()


def test_op_that_has_gone_cannot_be_tried(admin_client: HttpClient) -> None:
    assert admin_client.get(reverse("admin:op_try", args=[999_999])).status_code == 404


def test_another_example_is_filled_in_for_the_same_subject(admin_client: HttpClient) -> None:
    tried = attempt(admin_client, "onto.task.update", {}, subject="ana&ben").content.decode()
    link = re.search(r'href="(\?example=1[^"]*)"', tried)
    assert link is not None

    filled = admin_client.get(page("onto.task.update") + html.unescape(link[1])).context["form"]

    assert filled["subject"].value() == "ana&ben"
    assert "append" in filled["args"].value()
