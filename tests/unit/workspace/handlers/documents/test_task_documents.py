from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from core.handler_contract import InvalidArgs, NotFound
from tests.support.loops import for_each
from tests.support.rows import project_graph
from tests.support.rows.factories import MADE_AT, DocumentFactory, TaskFactory
from tests.support.values.handler_calls import call_handler, get_field_error
from workspace.models import Document, Edge, Task

NOW = "2026-03-02T12:30:00Z"  # calls.AT


@pytest.fixture
def task(db: None) -> Task:
    task: Task = TaskFactory(title="Draft")
    return task


def documents(task: Task) -> dict[str, Any]:
    result: dict[str, Any] = call_handler("list_task_documents", task_id=str(task.pk)).result
    return result


def attach(task: Task, **sent: Any) -> Any:
    return call_handler("create_task_document", task_id=str(task.pk), **sent)


def test_create_adds_a_document_to_the_tasks_project_and_attaches_it(task: Task) -> None:
    outcome = attach(task, description="What was said")

    document, edge = Document.objects.get(), Edge.objects.get()
    expected = ("Draft Document", "document.task.scratch", "draft")
    assert (document.title, document.type_key, document.state_key) == expected
    assert document.project_id == edge.project_id == task.project_id
    assert (str(edge), edge.src_id, edge.dst_id) == ("task task_has_document document", task.pk, document.pk)
    assert edge.props == {"role": "deliverable"}
    assert outcome.result == {
        "document": {"id": str(document.pk), "title": "Draft Document", "type_key": "document.task.scratch"}
        | {"state_key": "draft"},
        "edge": {"id": str(edge.pk), "role": "deliverable", "created_at": NOW},
        "message": "Created the document and attached it to the task.",
    }
    assert (outcome.entity_id, outcome.entity_name, outcome.warnings) == (str(task.pk), "Draft", ())


def test_create_accepts_all_document_fields(task: Task) -> None:
    sent = {"description": "Why", "state_key": "ready", "type_key": "document.brief", "props": {"a": 1}}

    outcome = attach(task, title="Brief", content=r"# A\n\nB", role="scratch", **sent)

    document = Document.objects.get()
    assert {name: getattr(document, name) for name in sent} == sent
    assert (document.title, document.content) == ("Brief", "# A\n\nB")
    assert outcome.result["edge"]["role"] == "scratch"
    assert outcome.warnings == (r"Read \n in content as line breaks, because it had no others.",)


def test_create_names_the_document_after_a_task_of_any_length(db: None) -> None:
    attach(TaskFactory(title="ü" * 300), content="# A")

    assert Document.objects.get().title == "ü" * 280 + " Document"


@for_each("sent", [{}, {"role": "scratch"}, {"type_key": "document.brief", "state_key": "ready"}], undone=True)
def test_create_without_text_is_refused_with_a_hint(task: Task, sent: dict[str, str]) -> None:
    error = get_field_error(lambda: attach(task, **sent))

    assert (error.path, error.code) == ("", "no_document")
    assert "document_id" in error.message
    assert "title" in error.message
    assert not Document.objects.exists()


def test_attach_links_an_existing_document(task: Task) -> None:
    document = DocumentFactory(project=task.project, title="Brief", content="x" * 300)

    outcome = attach(task, document_id=str(document.pk), role="brief")

    assert outcome.result["document"]["id"] == str(document.pk)
    assert outcome.result["document"]["content_preview"] == "x" * 200 + "…"
    assert outcome.result["edge"]["role"] == "brief"
    assert outcome.result["message"] == "Attached the document to the task."
    assert Document.objects.count() == Edge.objects.count() == 1


def test_second_attach_changes_only_the_role(task: Task) -> None:
    id = str(DocumentFactory(project=task.project).pk)
    attach(task, document_id=id, role="scratch")

    for same in ({}, {"role": "scratch"}):
        again = attach(task, document_id=id, **same)
        assert (again.warnings, again.result["edge"]["role"]) == (("unchanged",), "scratch")
    other = attach(task, document_id=id, role="deliverable")

    assert (other.warnings, other.result["message"]) == ((), "Already attached; changed its role.")
    assert [edge.props for edge in Edge.objects.all()] == [{"role": "deliverable"}]


def test_attach_refuses_fields_of_a_new_document_and_documents_elsewhere(task: Task) -> None:
    document = DocumentFactory(project=task.project)

    with pytest.raises(InvalidArgs, match=r"^title is only for a new document; leave it out") as refused:
        attach(task, document_id=str(document.pk), title="New", content="New")
    with pytest.raises(NotFound, match="document_id"):
        attach(task, document_id=str(DocumentFactory().pk))

    assert [error.path for error in refused.value.field_errors] == ["/title", "/content"]
    assert not Edge.objects.exists()


def test_list_returns_documents_in_the_order_of_attaching(task: Task) -> None:
    def attach_document(title: str, deleted_at: Any = None, **edge: Any) -> Edge:
        document = DocumentFactory(project=task.project, title=title, deleted_at=deleted_at)
        return project_graph.create_edge(task, "task_has_document", document, **edge)

    attach_document("Deleted", deleted_at=MADE_AT, props={"role": "scratch"})
    Edge.objects.filter(pk=attach_document("Detached").pk).update(deleted_at=MADE_AT)
    assert (documents(task)["documents"], documents(task)["scratch_pad"], documents(task)["total"]) == ([], None, 0)
    attach_document("Later", created_at=MADE_AT + timedelta(hours=1), props={"role": "scratch"})
    edge = attach_document("First")
    project_graph.create_edge(Document.objects.get(title="First"), "references", task)

    result = documents(task)

    assert [each["document"]["title"] for each in result["documents"]] == ["First", "Later"]
    expected = {"id": str(edge.pk), "role": "deliverable", "created_at": "2026-03-01T09:00:00Z"}
    assert result["documents"][0]["edge"] == expected
    assert result["scratch_pad"] == result["documents"][1]
    assert (result["total"], result["has_more"]) == (2, False)
    assert result["message"].startswith("2 of 2 documents of this task, in the order they were attached.")


def test_list_shows_at_most_fifty_and_counts_all(task: Task, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    for _ in range(51):
        project_graph.create_edge(task, "task_has_document", DocumentFactory(project=task.project))

    with django_assert_num_queries(4):
        result = documents(task)

    assert (len(result["documents"]), result["total"], result["has_more"]) == (50, 51, True)
