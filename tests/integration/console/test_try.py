"""Trying an op in the console: it answers like the API, saves nothing but an event, and reports ignore it."""

import html
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics import reports
from analytics.events import event_log
from analytics.events.models import OperationEvent
from analytics.rollups import rollup_job
from audit.models import AuditEntry
from registry.catalog import cache, switches
from registry.drafts import switch_service
from registry.models import Activation, Connection, Op, Release, Vocabulary
from tests.support.clients.api import Api
from tests.support.console.role_matrix import create_user_with_role
from tests.support.loops import for_each
from workspace.demo import DEMO_SUBJECT
from workspace.models import Task

pytestmark = pytest.mark.usefixtures("api")


def get_op(path: str) -> Op:
    return Op.objects.get(op=path)


def get_try_url(path: str) -> str:
    return reverse("admin:op_try", args=[get_op(path).pk])


def try_op(client: HttpClient, path: str, args: Any, *, subject: str = DEMO_SUBJECT, version: str = "draft") -> Any:
    text = args if isinstance(args, str) else json.dumps(args)
    return client.post(get_try_url(path), {"args": text, "subject": subject, "under": version})


def parse_answer(response: HttpResponse) -> dict[str, Any]:
    assert response.status_code == 200
    match = re.search(r'<pre[^>]*aria-label="Answer">(.*?)</pre>', response.content.decode(), re.S)
    assert match, response.content.decode()
    return json.loads(html.unescape(match[1]))


def remove_differences(envelope: dict[str, Any]) -> dict[str, Any]:
    """Return an envelope without what differs from call to call."""
    meta = {name: value for name, value in envelope["meta"].items() if name not in ("trace_id", "latency_ms")}
    comparable = {**envelope, "meta": meta}
    if rows := comparable.get("result", {}).get("task"):
        rows.pop("updated_at", None), rows.pop("completed_at", None)
    return comparable


@for_each("version", ["draft", "live"])
@for_each(
    "path, args",
    [
        ("onto.task.list", {"limit": 2}),
        ("onto.task.update", "the example's"),
        ("onto.task.update", {"task_id": "nonsense", "state_key": "gone"}),
        ("onto.task.update", {"task_id": "2b7e1a4c-8d3f-4e6a-9c5b-1f0d2e3a4b5c", "state_key": "done"}),
        ("onto.task.delete", "the example's"),
    ],
)
def test_try_answers_like_the_api_and_writes_are_dry_runs(
    api: Api, admin_client: HttpClient, path: str, args: Any, version: str
) -> None:
    args = get_op(path).examples.all()[0].args if isinstance(args, str) else args
    release = "draft" if version == "draft" else Release.objects.get().version

    tried = parse_answer(try_op(admin_client, path, args, version=release))

    options = {"dry_run": True} if get_op(path).kind == "write" else {}
    assert remove_differences(tried) == remove_differences(api.exec(path, args, **options))


def test_try_undoes_writes_and_its_event_names_the_user(admin_client: HttpClient) -> None:
    before = list(Task.objects.order_by("pk").values())
    args = get_op("onto.task.update").examples.all()[0].args

    tried = try_op(admin_client, "onto.task.update", args)
    try_op(admin_client, "onto.task.get", {"task_id": args["task_id"]})
    event_log.flush()

    assert parse_answer(tried)["ok"]
    assert parse_answer(tried)["meta"]["dry_run"]
    assert list(Task.objects.order_by("pk").values()) == before
    events = OperationEvent.objects.order_by("time").values_list(
        "op", "source", "client", "key", "subject", "release", "dry_run"
    )
    assert list(events) == [
        ("onto.task.update", "admin", "admin admin", "admin", DEMO_SUBJECT, "draft", True),
        ("onto.task.get", "admin", "admin admin", "admin", DEMO_SUBJECT, "draft", False),
    ]
    assert f"?q={parse_answer(tried)['meta']['trace_id']}" in tried.content.decode()


def test_figures_ignore_tried_calls(admin_client: HttpClient) -> None:
    for args in ({"task_id": "x"}, "{", "[]", "{}"):
        try_op(admin_client, "onto.task.update", args)
    event_log.flush()
    at = timezone.now() + timedelta(seconds=1)

    rollup_job.run_rollup(at)

    assert OperationEvent.objects.filter(ok=False).count() == 4
    assert reports.get_op_figures("onto.task.update", at=at) == reports.OpFigures()


@for_each(
    "args, status, reason",
    [
        ("{", "400 Bad Request", "invalid_json"),
        ('{}, "dry_run": false', "400 Bad Request", "invalid_json"),
        ("[]", "400 Bad Request", "malformed_call"),
    ],
)
def test_try_shows_the_error_of_the_api(admin_client: HttpClient, args: str, status: str, reason: str) -> None:
    response = try_op(admin_client, "onto.task.update", args)

    page_html = html.unescape(response.content.decode())
    assert status in page_html
    error = parse_answer(response)["error"]
    assert error["details"]["reason"] == reason
    assert f"<p>{error['message']}</p>" in page_html


def test_try_runs_with_the_rights_of_the_subject(admin_client: HttpClient) -> None:
    task = get_op("onto.task.get").examples.all()[0].args

    assert parse_answer(try_op(admin_client, "onto.task.get", task))["ok"]
    stranger = parse_answer(try_op(admin_client, "onto.task.get", task, subject="nobody"))
    nobody = parse_answer(try_op(admin_client, "onto.task.get", task, subject=""))
    odd = try_op(admin_client, "onto.task.get", task, subject="a b")

    assert stranger["error"]["code"] == "NOT_FOUND"
    assert nobody["error"]["details"]["reason"] == "subject_required"
    assert "A subject has 1 to 200 visible ASCII characters." in odd.content.decode()


def test_try_uses_the_draft_or_the_live_release(api: Api, admin_client: HttpClient) -> None:
    target = get_op("onto.task.update")
    target.parameters_schema["properties"]["reason"] = {"type": "string"}
    target.parameters_schema["required"] = ["task_id", "reason"]
    target.save()
    args = target.examples.all()[0].args
    target.examples.all().delete()  # the draft's schema now refuses them
    live = Release.objects.get().version

    draft_answer, live_answer = (
        parse_answer(try_op(admin_client, target.op, args, version=each)) for each in ("draft", live)
    )

    assert [error["path"] for error in draft_answer["error"]["details"]["field_errors"]] == ["/reason"]
    assert live_answer["ok"]
    assert api.exec(target.op, args, dry_run=True)["ok"]
    assert cache.get_live_catalog().ops[target.op].required == {"task_id"}


def test_try_offers_only_the_live_release_when_the_draft_cannot_run(admin_client: HttpClient) -> None:
    Op.objects.filter(op="onto.task.get").update(parameters_schema={"type": "object", "$ref": "http://elsewhere/"})

    page_html = admin_client.get(get_try_url("onto.task.get")).content.decode()
    refused = try_op(admin_client, "onto.task.get", {})

    assert "The draft cannot run: A $ref points outside the schema." in page_html
    assert "Live release r1" in page_html
    assert "Select a valid choice" in refused.content.decode()


def test_try_knows_the_words_of_the_draft(admin_client: HttpClient) -> None:
    args = get_op("onto.task.update").examples.all()[0].args | {"priority": "blazing"}
    Vocabulary.objects.filter(argument="priority", meaning="1").update(words=["blazing"])
    live = Release.objects.get().version

    draft_answer, live_answer = (
        parse_answer(try_op(admin_client, "onto.task.update", args, version=each)) for each in ("draft", live)
    )

    assert "Read priority as 1." in draft_answer["meta"]["warnings"]
    assert not live_answer["ok"]


def test_try_runs_an_op_that_is_not_live_yet(admin_client: HttpClient) -> None:
    connection = Connection.objects.get(name="workspace")
    new_op = Op.objects.create(op="onto.lone", tool_name="lone", kind="read", summary="Lone", connection=connection)

    page_html = admin_client.get(get_try_url("onto.lone")).content.decode()
    tried = parse_answer(try_op(admin_client, new_op.op, {}))

    assert "Live release" not in page_html
    assert tried["error"]["code"] == "INTERNAL"  # nothing runs it


def test_try_refuses_an_op_that_is_switched_off(admin_client: HttpClient) -> None:
    switch_service.set_switch(
        kind="op", name="onto.task.list", is_off=True, reason="Slow", by="tests", at=timezone.now()
    )
    switches.refresh_switches()

    assert parse_answer(try_op(admin_client, "onto.task.list", {}))["error"]["details"]["reason"] == "switched_off"


def test_try_needs_a_live_release(admin_client: HttpClient) -> None:
    Activation.objects.all().delete()
    Release.objects.all().delete()
    cache.clear_cache()

    page_html = admin_client.get(get_try_url("onto.task.get")).content.decode()

    assert "No release is live." in page_html
    assert "<textarea" not in page_html


def test_try_form_has_the_args_of_the_chosen_example(admin_client: HttpClient) -> None:
    examples = list(get_op("onto.task.update").examples.all())

    def read_args(example: str) -> Any:
        page_html = admin_client.get(get_try_url("onto.task.update"), {"example": example}).content.decode()
        assert f'value="{DEMO_SUBJECT}"' in page_html
        return json.loads(html.unescape(re.search(r"<textarea[^>]*>(.*?)</textarea>", page_html, re.S)[1]))

    assert read_args("") == read_args("0") == read_args("99") == read_args("x") == examples[0].args
    assert read_args("1") == examples[1].args
    get_op("onto.task.update").examples.all().delete()
    assert read_args("").keys() == {"task_id"}


def test_example_link_keeps_the_subject(admin_client: HttpClient) -> None:
    tried = try_op(admin_client, "onto.task.update", {}, subject="ana&ben").content.decode()
    link = re.search(r'href="(\?example=1[^"]*)"', tried)
    assert link is not None

    form = admin_client.get(get_try_url("onto.task.update") + html.unescape(link[1])).context["form"]

    assert form["subject"].value() == "ana&ben"
    assert "append" in form["args"].value()


@pytest.fixture
def editor(client: HttpClient) -> HttpClient:
    """A browser session of an editor."""
    client.force_login(create_user_with_role("E"))
    return client


def test_editor_tries_an_op_as_demo_users_only(editor: HttpClient) -> None:
    as_demo_user = parse_answer(try_op(editor, "onto.task.list", {"limit": 1}))
    as_real_user = try_op(editor, "onto.task.list", {"limit": 1}, subject="someone")

    assert as_demo_user["ok"] is True
    assert "You can try ops only as a demo user: demo-colleague or demo-user." in html.unescape(
        as_real_user.content.decode()
    )
    assert 'aria-label="Answer"' not in as_real_user.content.decode()
    assert not AuditEntry.objects.filter(action="tried").exists()


def test_trying_as_a_user_is_in_the_audit_log(admin_client: HttpClient) -> None:
    parse_answer(try_op(admin_client, "onto.task.list", {"limit": 1}, subject="someone"))
    parse_answer(try_op(admin_client, "onto.task.list", {"limit": 1}))

    entry = AuditEntry.objects.get(action="tried")
    assert (entry.kind, entry.name, entry.action, entry.by) == ("subject", "someone", "tried", "admin")
    assert entry.note == "onto.task.list"
