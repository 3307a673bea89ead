"""Every op by every role: who may, who is refused, and for whom nothing is there."""

import uuid
from typing import Any

import pytest

from tests.factories import MADE_AT, DocumentFactory, MembershipFactory, ProjectFactory, TaskFactory
from tests.unit.workspace.calls import call
from workspace.errors import Forbidden, NotFound, Refusal
from workspace.handlers import HANDLERS
from workspace.models import Document, Membership, Project, Role, Task

# What an op is called with, and what each role gets. `{task}` and its like stand for the ids.
PROJECT_ID = {"project_id": "{project}"}
TASK_ID = {"task_id": "{task}"}
DOCUMENT_ID = {"document_id": "{document}"}
READ = {"owner": None, "editor": None, "viewer": None, "left": NotFound, "stranger": NotFound}
CHANGE = READ | {"viewer": Forbidden}

TABLE: dict[str, tuple[dict[str, Any], dict[str, type[Refusal] | None]]] = {
    "get_onto_project_details": (PROJECT_ID, READ),
    "get_onto_task_details": (TASK_ID, READ),
    "list_onto_tasks": (PROJECT_ID, READ),  # of a project that is named
    "search_onto_tasks": (PROJECT_ID | {"query": "canary"}, READ),
    "update_onto_project": (PROJECT_ID | {"name": "New"}, CHANGE),
    "create_onto_task": (PROJECT_ID | {"title": "New"}, CHANGE),
    "update_onto_task": (TASK_ID | {"title": "New"}, CHANGE),
    "delete_onto_task": (TASK_ID, CHANGE),
    "get_onto_document_details": (DOCUMENT_ID, READ),
    "list_onto_documents": (PROJECT_ID, READ),
    "search_onto_documents": (PROJECT_ID | {"query": "canary"}, READ),
    "create_onto_document": (PROJECT_ID | {"title": "New"}, CHANGE),
    "update_onto_document": (DOCUMENT_ID | {"content": "New"}, CHANGE),
    "delete_onto_document": (DOCUMENT_ID, CHANGE),
    "search_ontology": (PROJECT_ID | {"query": "canary"}, READ),
}
OPEN = {  # name no row that could be foreign
    "list_onto_projects": {},
    "search_onto_projects": {"query": "canary"},
    "create_onto_project": {"project": {"name": "Own", "type_key": "project.personal.garden"}},
    "get_field_info": {"entity_type": "ontology_task"},
}

LISTS = [f"{action}_onto_{plural}" for action in ("list", "search") for plural in ("projects", "tasks", "documents")]


@pytest.fixture
def task(db: None) -> Task:
    task: Task = TaskFactory(
        title="canary", description="canary", project__name="canary", project__props={"c": "canary"}
    )
    DocumentFactory(project=task.project, title="canary", description="canary", content="canary")
    for role in (Role.EDITOR, Role.VIEWER):
        MembershipFactory(project=task.project, subject=role.value, role=role)
    MembershipFactory(project=task.project, subject="left", role=Role.OWNER, deleted_at=MADE_AT)
    ProjectFactory(created_by="stranger")
    return task


def sent(args: dict[str, Any], *, project: object, task: object, document: object) -> dict[str, Any]:
    ids = {"{project}": str(project), "{task}": str(task), "{document}": str(document)}
    return {name: ids.get(value, value) if isinstance(value, str) else value for name, value in args.items()}


CASES = [
    pytest.param(tool, args, subject, refusal, id=f"{tool}-{subject}")
    for tool, (args, outcomes) in TABLE.items()
    for subject, refusal in outcomes.items()
]


def rows() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in (Project, Task, Document, Membership)]


@pytest.mark.parametrize(("tool", "args", "subject", "refusal"), CASES)
def test_access(task: Task, tool: str, args: dict[str, Any], subject: str, refusal: type[Refusal] | None) -> None:
    args = sent(args, project=task.project_id, task=task.pk, document=Document.objects.get().pk)
    before = rows()

    if refusal is None:
        assert call(tool, subject=subject, **args).result
        return
    with pytest.raises(refusal):
        call(tool, subject=subject, **args)
    assert rows() == before


@pytest.mark.parametrize("subject", ["left", "stranger", ""])
@pytest.mark.parametrize("tool", TABLE)
def test_foreign_ids_are_refused_exactly_as_ids_that_never_were(task: Task, tool: str, subject: str) -> None:
    args, _ = TABLE[tool]
    told = []

    document = Document.objects.get().pk
    for ids in ((task.project_id, task.pk, document), (uuid.uuid4(), uuid.uuid4(), uuid.uuid4())):
        args_sent = sent(args, **dict(zip(("project", "task", "document"), ids, strict=True)))
        with pytest.raises(NotFound) as refused:
            call(tool, subject=subject, **args_sent)
        told.append((refused.value.message, refused.value.reason, refused.value.field_errors))

    assert told[0] == told[1]
    assert "canary" not in str(told)


@pytest.mark.parametrize("subject", ["left", "stranger", ""])
@pytest.mark.parametrize("tool", [*LISTS, "search_ontology"])
def test_lists_tell_nothing_of_foreign_rows(task: Task, tool: str, subject: str) -> None:
    for query in ("canary", "canarry", "canary or what you call it"):  # all words, closeness, any word
        assert "canary" not in str(call(tool, subject=subject, query=query))


def test_lists_tell_members_of_every_role(task: Task) -> None:
    for subject in ("owner", "editor", "viewer"):
        for tool in LISTS:
            assert call(tool, subject=subject, query="canary").result["total"] == 1
        for query in ("canary", "canarry"):
            assert call("search_ontology", subject=subject, query=query).result["total"] == 3


def test_search_over_kinds_leaves_deleted_rows_out(task: Task) -> None:
    Document.objects.update(deleted_at=MADE_AT)
    assert call("search_ontology", query="canary").result["total"] == 2

    Project.objects.filter(pk=task.project_id).update(deleted_at=MADE_AT)
    assert call("search_ontology", query="canary").result["total"] == 0
    assert call("search_ontology", query="canarry").result["total"] == 0


def test_every_op_is_in_the_table() -> None:
    assert set(TABLE) | set(OPEN) == set(HANDLERS)


@pytest.mark.parametrize("tool", OPEN)
def test_ops_that_name_no_row_are_open_to_every_subject(task: Task, tool: str) -> None:
    assert call(tool, subject="nobody yet", **OPEN[tool]).result
