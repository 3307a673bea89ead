"""Eval cases that a model works on with the three tools: what it is shown, what it may do, and how it is scored."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.db.models.functions import Now
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.events.models import OperationEvent
from core.background import leases
from gateway.model_evals import conversation, job
from gateway.model_evals.conversation import CaseScore
from gateway.model_evals.tool_runner import EvalToolRunner, MadeCall
from gateway.models import ModelRun
from registry.catalog.model import Catalog
from registry.models import EvalCase, Op
from tests.support.chat.fake_llm import FakeLlm, build_stream
from workspace.demo import DEMO_PROJECT_ID, DEMO_SUBJECT
from workspace.models import Task

pytestmark = pytest.mark.django_db

CREATE, LIST = "onto.task.create", "onto.task.list"
ARGS = {"project_id": DEMO_PROJECT_ID, "title": "Call the printers"}
RunModel = Callable[..., ModelRun]


def call(name: str, **arguments: Any) -> Any:
    """Return an answer of the model that calls a tool."""
    return b"".join(build_stream(calls=[("c1", name, orjson.dumps(arguments).decode())]))


def say(text: str) -> Any:
    return b"".join(build_stream(text))


@pytest.fixture
def case(live_catalog: Catalog) -> EvalCase:
    return EvalCase.objects.create(request="remind me of the printers", op=CREATE, args={"title": ARGS["title"]})


@pytest.fixture
def run_model(
    llm: FakeLlm, case: EvalCase, background_at_once: None, django_capture_on_commit_callbacks: Any
) -> RunModel:
    """Return a function that runs the cases with a model that answers like this."""

    def run(*answers: Any, **fields: Any) -> ModelRun:
        llm.answers = list(answers)
        row = ModelRun(**{"target": "live", **fields})
        with django_capture_on_commit_callbacks(execute=True):
            job.start_run(row, by="ana")
        row.refresh_from_db()
        return row

    return run


def test_model_searches_and_calls_and_is_scored_by_op_and_args(run_model: RunModel, llm: FakeLlm) -> None:
    tasks = Task.objects.count()

    row = run_model(call("tool_help", query="remind me"), call("tool_exec", op=CREATE, args=ARGS), say("never asked"))

    [result] = row.results
    assert (row.state, row.model, row.case_count) == ("done", "big", 1)
    assert (result["op_right"], result["args_right"], result["calls"], result["rounds"]) == (True, True, [CREATE], 2)
    assert result["tokens"] == 2_400
    assert Task.objects.count() == tasks  # a write is a dry run
    first, second = llm.bodies
    assert [tool["function"]["name"] for tool in first["tools"]] == ["tool_help", "tool_exec", "tool_batch"]
    assert first["messages"][1] == {"role": "user", "content": "remind me of the printers"}
    found = orjson.loads(second["messages"][-1]["content"])
    assert CREATE in [item["path"] for item in found["items"]]


def test_no_figure_counts_the_calls_of_a_run(
    run_model: RunModel, read_events: Callable[[], list[OperationEvent]]
) -> None:
    run_model(call("tool_help", path="onto.task"), call("tool_exec", op=LIST, args={}), say("Done."))

    assert {event.source for event in read_events()} == {"admin"}


def test_a_batch_runs_in_order_with_references(live_catalog: Catalog) -> None:
    runner = EvalToolRunner(live_catalog, subject=DEMO_SUBJECT, by="ana")
    first = {"type": "exec", "op": "onto.project.list", "args": {"limit": 1}}
    second = {"type": "exec", "op": LIST, "args": {"project_id": {"$result": "0#/result/projects/0/id"}}}
    lost = {"type": "exec", "op": LIST, "args": {"project_id": {"$result": "9#/nothing"}}}

    arguments = orjson.dumps({"ops": [first, second, lost, {"type": "help", "path": LIST}]}).decode()
    answer = orjson.loads(runner.answer("tool_batch", arguments))

    assert [each["ok"] for each in answer["results"]] == [True, True, False, True]
    assert [each.op for each in runner.calls] == ["onto.project.list", LIST]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("tool_exec", "{"),
        ("tool_exec", '{"op": 7, "args": []}'),
        ("tool_help", '{"path": "onto.nothing"}'),
        ("tool_batch", '{"ops": [7]}'),
        ("send_email", "{}"),
    ],
)
def test_calls_that_make_no_sense_are_answered_with_an_error(live_catalog: Catalog, name: str, arguments: str) -> None:
    runner = EvalToolRunner(live_catalog, subject=DEMO_SUBJECT, by="ana")

    answer = orjson.loads(runner.answer(name, arguments))

    assert answer["error"]["message"]


READ, WRITE, RIGHT = (
    MadeCall(LIST, {}, is_write=False, ok=True),
    MadeCall("onto.task.delete", {}, is_write=True, ok=True),
    MadeCall(CREATE, {"title": "x", "priority": 1}, is_write=True, ok=True),
)


@pytest.mark.parametrize(
    ("calls", "args", "score"),
    [
        ([READ, RIGHT], None, CaseScore(True, None)),
        ([RIGHT], {"title": "x"}, CaseScore(True, True)),
        ([RIGHT], {"title": "y"}, CaseScore(True, False)),
        ([RIGHT], {"due_at": None}, CaseScore(True, False)),
        ([], {"title": "x"}, CaseScore(False, False)),
        ([READ], None, CaseScore(False, None)),
        ([WRITE, RIGHT], None, CaseScore(False, None)),  # what it wrote on the way was wrong
        ([MadeCall(CREATE, {}, is_write=True, ok=False)], None, CaseScore(False, None)),
        ([MadeCall(CREATE, {}, is_write=True, ok=False), RIGHT], None, CaseScore(True, None)),  # repaired
    ],
)
def test_score_is_that_of_the_first_right_call(
    calls: list[MadeCall], args: dict[str, Any] | None, score: CaseScore
) -> None:
    assert conversation.score_calls(EvalCase(request="x", op=CREATE, args=args), calls) == score


def test_model_that_only_answers_is_wrong_and_one_that_never_ends_is_stopped(run_model: RunModel, llm: FakeLlm) -> None:
    silent = run_model(say("I cannot do that."))
    endless = run_model(call("tool_help", path="root"))

    assert silent.results[0]["op_right"] is False
    assert (endless.results[0]["rounds"], endless.state) == (conversation.MAX_ROUNDS, "done")


def test_a_failing_endpoint_is_told_with_the_case(run_model: RunModel) -> None:
    row = run_model(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")

    assert row.state == "done"
    assert row.results[0]["problem"].startswith("LlmDenied")
    assert row.results[0]["op_right"] is False


def test_draft_is_read_and_not_the_live_release(run_model: RunModel, llm: FakeLlm) -> None:
    Op.objects.filter(op=LIST).update(summary="Enumerate what is to be done")

    row = run_model(call("tool_help", path=LIST), say("Done."), target="draft")

    assert "Enumerate what is to be done" in llm.bodies[-1]["messages"][-1]["content"]
    assert len(row.version) == 64


def test_a_stopped_run_works_on_no_other_case(run_model: RunModel, monkeypatch: pytest.MonkeyPatch) -> None:
    EvalCase.objects.create(request="what is left", op=LIST)
    run_case = conversation.run_case

    def run_and_stop(*args: Any, **fields: Any) -> Any:
        assert job.stop_run(ModelRun.objects.get())
        return run_case(*args, **fields)

    monkeypatch.setattr(conversation, "run_case", run_and_stop)
    row = run_model(say("Done."))

    assert (row.state, len(row.results), row.case_count) == ("stopped", 1, 2)
    assert not job.stop_run(row)


def test_cases_are_chosen_by_set_and_tag_and_spread_over_ops(live_catalog: Catalog) -> None:
    for number in range(3):
        EvalCase.objects.create(request=f"create {number}", op=CREATE, tags=["terse"])
    EvalCase.objects.create(request="list", op=LIST, case_set="held_back", tags=["terse"])
    EvalCase.objects.create(request="off", op=LIST, is_active=False)

    def choose(**fields: Any) -> list[str]:
        return [case.request for case in job.choose_cases(ModelRun(**fields))]

    assert choose(case_limit=2) == ["create 0", "list"]
    assert choose(case_set="held_back") == ["list"]
    assert choose(tag="terse") == ["create 0", "list", "create 1", "create 2"]
    assert choose(tag="ters") == []


def test_run_is_started_and_shown_in_the_admin(
    admin_client: HttpClient,
    llm: FakeLlm,
    case: EvalCase,
    background_at_once: None,
    django_capture_on_commit_callbacks: Any,
) -> None:
    llm.answers = [call("tool_exec", op=CREATE, args={**ARGS, "title": "Other"})]
    fields = {"target": "draft", "tier": "fast", "case_set": "", "tag": "", "case_limit": 5}

    with django_capture_on_commit_callbacks(execute=True):
        saved = admin_client.post(reverse("admin:gateway_modelrun_add"), fields)

    row = ModelRun.objects.get()
    assert saved.status_code == 302
    assert (row.created_by, row.model, row.state) == ("admin", "quick", "done")
    page = admin_client.get(reverse("admin:gateway_modelrun_change", args=[row.pk])).content.decode()
    assert "remind me of the printers" in page
    assert "100% of 1" in page  # the op
    assert "0% of 1" in page  # its args


def test_nothing_starts_without_a_model_or_cases(
    admin_client: HttpClient, live_catalog: Catalog, settings: Any
) -> None:
    settings.LLM_BASE_URL = ""
    fields = {"target": "draft", "tier": "main", "case_limit": 5}
    url = reverse("admin:gateway_modelrun_add")

    assert "No model is configured." in admin_client.post(url, fields).content.decode()
    settings.LLM_BASE_URL = "http://llm.test/v1"
    assert "No active eval case" in admin_client.post(url, fields).content.decode()
    assert not ModelRun.objects.exists()


def test_a_run_is_stopped_in_the_list(admin_client: HttpClient) -> None:
    row = ModelRun.objects.create(model="big", created_by="ana")

    data = {"action": "stop", "_selected_action": [row.pk]}
    page = admin_client.post(reverse("admin:gateway_modelrun_changelist"), data, follow=True).content.decode()

    row.refresh_from_db()
    assert row.state == "stopped"
    assert "Stopped: 1." in page


def test_a_run_ends_with_its_process(admin_client: HttpClient) -> None:
    lost = ModelRun.objects.create(model="big", created_by="ana", **leases.begin(job.LEASE))
    old = ModelRun.objects.create(model="big", created_by="ana")
    job.end_lost_runs(timezone.now())
    assert set(ModelRun.objects.values_list("state", flat=True)) == {"running"}

    ModelRun.objects.filter(pk=lost.pk).update(held_until=Now() - timedelta(seconds=1))
    ModelRun.objects.filter(pk=old.pk).update(updated_at=timezone.now() - job.SILENT_AFTER * 2)
    job.end_lost_runs(timezone.now())

    assert set(ModelRun.objects.values_list("state", flat=True)) == {"failed"}
    page = admin_client.get(reverse("admin:gateway_modelrun_changelist")).content.decode()
    assert "failed: its process ended" in page


def test_process_that_stood_still_leaves_the_run_ended(
    run_model: RunModel, monkeypatch: pytest.MonkeyPatch, case: EvalCase
) -> None:
    run_case = conversation.run_case

    def stand_still(*args: Any, **fields: Any) -> Any:
        ModelRun.objects.update(held_until=Now() - timedelta(seconds=1))
        job.end_lost_runs(timezone.now())
        return run_case(*args, **fields)

    monkeypatch.setattr(conversation, "run_case", stand_still)

    row = run_model(say("I cannot."), case_limit=1)

    assert (row.state, row.error, len(row.results)) == ("failed", "its process ended", 1)
