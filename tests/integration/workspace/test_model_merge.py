"""update_strategy merge_llm through the API: a model merges the texts, or they are appended with a warning."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from core.llm import completions
from tests.support.chat.fake_llm import FakeLlm, build_chat_completion
from tests.support.clients.api import Api
from tests.support.rows.factories import ProjectFactory, TaskFactory
from tests.support.upstreams.http_servers import build_response
from workspace.demo import DEMO_DOCUMENT_ID, DEMO_TASK_ID
from workspace.models import Document, Task

OLD, NEW, MERGED = "Ask **Ana** for the prices.", "Ana is away; ask Ben.", "Ask **Ben** for the prices: Ana is away."
APPENDED = f"{OLD}\n\n{NEW}"
CALL = {"op": "onto.task.update", "args": {"task_id": DEMO_TASK_ID, "description": NEW, "update_strategy": "merge_llm"}}


@pytest.fixture
def task(live_catalog: Any, monkeypatch: pytest.MonkeyPatch) -> Task:
    monkeypatch.setattr(completions, "FIRST_WAIT_SECONDS", 0.01)
    Task.objects.filter(pk=DEMO_TASK_ID).update(description=OLD)
    return Task.objects.get(pk=DEMO_TASK_ID)


def merge(api: Api, **args: Any) -> dict[str, Any]:
    return api.exec(CALL["op"], CALL["args"] | args)


def answer_after(change: Callable[[], object]) -> Callable[[], bytes]:
    """Return the model's answer, which comes after a change of the database by somebody else."""

    def answer() -> bytes:
        change()
        connection.close()  # of the server's thread
        return build_chat_completion(MERGED)

    return answer


def test_model_merges_the_texts(api: Api, llm: FakeLlm, task: Task) -> None:
    llm.answers = [build_chat_completion(f"\n{MERGED}\n")]

    envelope = merge(api, merge_instructions="Keep the bold names.")

    task.refresh_from_db()
    assert (task.description, envelope["meta"]["warnings"]) == (MERGED, [])
    [body] = llm.bodies
    system, user = (message["content"] for message in body["messages"])
    assert body["model"] == "big"
    assert "description of a task" in system
    assert system.endswith("Keep the bold names.")
    assert user == f"<current>\n{OLD}\n</current>\n\n<new>\n{NEW}\n</new>"


def test_merge_needs_no_model_for_an_empty_text(api: Api, llm: FakeLlm, task: Task) -> None:
    Task.objects.update(description="")

    assert merge(api)["meta"]["warnings"] == []
    assert Task.objects.get(pk=task.pk).description == NEW
    assert llm.bodies == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (build_chat_completion(MERGED[:20], finish_reason="length"), "its answer was cut off"),
        (build_chat_completion("Ben."), "its answer was unusable"),  # it has lost the rest
        (build_chat_completion("", finish_reason="content_filter"), "it refused"),
        (build_response(b"", "401 Unauthorized"), "it refused"),
        (build_response(b"", "503 Service Unavailable"), "it did not answer in time"),
    ],
)
def test_texts_are_appended_if_the_model_fails(api: Api, llm: FakeLlm, task: Task, answer: bytes, problem: str) -> None:
    llm.answers = [answer]

    envelope = merge(api)

    task.refresh_from_db()
    assert task.description == APPENDED
    assert envelope["meta"]["warnings"] == [f"The model did not merge description ({problem}), so it was appended."]


def test_model_is_asked_only_for_rows_that_the_subject_may_change(api: Api, llm: FakeLlm, task: Task) -> None:
    hidden = TaskFactory(project=ProjectFactory(created_by="stranger"), description=OLD)

    assert merge(api, task_id=str(hidden.pk))["error"]["code"] == "NOT_FOUND"
    assert merge(api, title="", description=None)["ok"] is False
    assert llm.bodies == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("changed", [{"description": "Other."}, {"title": "Other", "updated_at": timezone.now()}])
def test_merge_of_a_row_that_has_changed_meanwhile_is_a_conflict(
    api: Api, llm: FakeLlm, task: Task, changed: dict[str, Any]
) -> None:
    llm.answers = [
        answer_after(lambda: Task.objects.filter(pk=task.pk).update(**changed)),
        build_chat_completion(MERGED),
    ]

    error = merge(api)["error"]

    assert (error["code"], error["details"]["reason"]) == ("CONFLICT", "changed_while_merging")
    assert Task.objects.get(pk=task.pk).description == changed.get("description", OLD)
    assert merge(api)["ok"]  # the same call again
    assert Task.objects.get(pk=task.pk).description == MERGED


def test_documents_are_merged_with_real_line_breaks(api: Api, llm: FakeLlm, live_catalog: Any) -> None:
    Document.objects.filter(pk=DEMO_DOCUMENT_ID).update(content=OLD)
    llm.answers = [build_chat_completion(MERGED)]
    args = {"document_id": DEMO_DOCUMENT_ID, "content": r"# A\nLine", "update_strategy": "merge_llm"}

    api.exec("onto.document.update", args)

    assert Document.objects.get(pk=DEMO_DOCUMENT_ID).content == MERGED
    assert "# A\nLine" in llm.bodies[0]["messages"][1]["content"]


def test_occurrence_of_a_recurring_task_is_merged_too(api: Api, llm: FakeLlm, task: Task) -> None:
    Task.objects.filter(pk=task.pk).update(recurrence="daily")
    llm.answers = [build_chat_completion(MERGED)]
    start = api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})["result"]["task"]
    occurrence = start["start_at"] or start["due_at"]

    envelope = merge(api, scope="this", occurrence_start=occurrence)

    assert envelope["ok"], envelope
    assert Task.objects.get(pk=envelope["result"]["task"]["id"]).description == MERGED
