"""Every op with every role: allowed, refused, or not found."""

import uuid
from itertools import product
from typing import Any

import pytest

from core.handler_contract import Forbidden, NotFound, OpRefusal
from tests.support.loops import for_each
from tests.support.rows import project_graph
from tests.support.rows.factories import (
    MADE_AT,
    DocumentFactory,
    EventFactory,
    GoalFactory,
    MembershipFactory,
    MilestoneFactory,
    PlanFactory,
    ProjectCalendarFactory,
    ProjectFactory,
    RequirementFactory,
    RiskFactory,
    TaskFactory,
)
from tests.support.values.handler_calls import call_handler
from workspace.entity_types import ENTITY_TYPE_BY_NAME, PROJECT
from workspace.handlers import HANDLERS
from workspace.models import CalendarEvent, Document, Edge, MemberRole, Membership, Project, ProjectCalendar, Task

# The args of each op and the outcome for each role. Placeholders such as `{task}` are ids of ROWS.
ROWS = tuple(ENTITY_TYPE_BY_NAME.values())
PROJECT_ID = {"project_id": "{project}"}
TASK_ID = {"task_id": "{task}"}
DOCUMENT_ID = {"document_id": "{document}"}
LINK = {"src_kind": "task", "src_id": "{task}", "dst_kind": "document", "dst_id": "{document}", "rel": "references"}
EVENT_ID = {"event_id": "{event}"}
NEW_EVENT = {"title": "New", "start_at": "2026-03-05"}
NODE = {"id": "{task}", "kind": "task", "connections": [{"id": "{plan}", "kind": "plan"}]}
Refusals = dict[str, type[OpRefusal] | None]  # by role
READ: Refusals = {"owner": None, "editor": None, "viewer": None, "left": NotFound, "stranger": NotFound}
CHANGE = READ | {"viewer": Forbidden}
OWN = CHANGE | {"editor": Forbidden}

# The ops that every kind of row has.
GENERIC_OPS: dict[str, tuple[dict[str, Any], Refusals]] = {}
for kind in ROWS:
    if kind is not PROJECT:
        row_id, new_name = {f"{kind.name}_id": f"{{{kind.name}}}"}, {kind.label: "New"}
        GENERIC_OPS |= {
            f"list_onto_{kind.plural}": (PROJECT_ID, READ),  # for a named project
            f"search_onto_{kind.plural}": (PROJECT_ID | {"query": "canary"}, READ),
            f"get_onto_{kind.name}_details": (row_id, READ),
            f"create_onto_{kind.name}": (PROJECT_ID | new_name, CHANGE),
            f"update_onto_{kind.name}": (row_id | new_name, CHANGE),
            f"delete_onto_{kind.name}": (row_id, CHANGE),
        }

TABLE: dict[str, tuple[dict[str, Any], Refusals]] = GENERIC_OPS | {
    "get_onto_project_details": (PROJECT_ID, READ),
    "update_onto_project": (PROJECT_ID | {"name": "New"}, CHANGE),
    "delete_onto_project": (PROJECT_ID, OWN),
    "schedule_task": (TASK_ID | {"start_at": "2026-03-09T09:00"}, CHANGE),
    "get_document_tree": (PROJECT_ID, READ),
    "get_document_path": (DOCUMENT_ID, READ),
    "get_document_outline": (DOCUMENT_ID, READ),
    "read_document_section": (DOCUMENT_ID | {"index": 0}, READ),
    "move_document_in_tree": (DOCUMENT_ID, CHANGE),
    "list_task_documents": (TASK_ID, READ),
    "create_task_document": (TASK_ID | {"title": "New"}, CHANGE),
    "get_entity_relationships": ({"entity_id": "{task}"}, READ),
    "get_linked_entities": ({"entity_kind": "task", "entity_id": "{task}"}, READ),
    "link_onto_entities": (LINK, CHANGE),
    "unlink_onto_edge": ({"edge_id": "{edge}"}, CHANGE),
    # To another project of the owner, which nobody else can see.
    "move_onto_task": (
        TASK_ID | {"project_id": "{destination}", "expected_project_id": "{project}"},
        CHANGE | {"editor": NotFound},
    ),
    "shift_onto_tasks": ({"days": 1, "task_ids": ["{task}"]}, CHANGE),
    "search_ontology": (PROJECT_ID | {"query": "canary"}, READ),
    "list_calendar_events": (PROJECT_ID | {"query": "canary"}, READ),
    "get_calendar_event_details": (EVENT_ID, READ),
    "create_calendar_event": (PROJECT_ID | NEW_EVENT, CHANGE),
    "update_calendar_event": (EVENT_ID | {"title": "New"}, CHANGE),
    "delete_calendar_event": (EVENT_ID, CHANGE),
    "get_project_calendar": (PROJECT_ID, READ),
    "set_project_calendar": (PROJECT_ID | {"name": "New"}, CHANGE),
    "get_onto_project_graph": (PROJECT_ID, READ),
    "reorganize_onto_project_graph": (PROJECT_ID | {"nodes": [NODE]}, CHANGE),
}
OPEN = {  # these name no row that could be foreign
    "list_onto_projects": {},
    "search_onto_projects": {"query": "canary"},
    "create_onto_project": {"project": {"name": "Own", "type_key": "project.personal.garden"}},
    "get_field_info": {"entity_type": "ontology_task"},
    "get_user_profile": {},
    "find_available_slots": {"time_min": "2026-03-02", "time_max": "2026-03-09"},
}

LISTS = [f"{action}_onto_{plural}" for action in ("list", "search") for plural in (kind.plural for kind in ROWS)]

DESTINATION = uuid.UUID(int=7)


@pytest.fixture
def task(db: None) -> Task:
    task: Task = TaskFactory(
        title="canary", description="canary", project__name="canary", project__props={"c": "canary"}
    )
    document = DocumentFactory(project=task.project, title="canary", description="canary", content="# canary")
    GoalFactory(project=task.project, name="canary", description="canary", measurement_criteria="canary")
    PlanFactory(project=task.project, name="canary", description="canary", plan="canary")
    MilestoneFactory(project=task.project, title="canary", description="canary")
    project_graph.create_edge(task, "task_has_document", document, props={"role": "canary"})
    RiskFactory(project=task.project, title="canary", description="canary", content="canary")
    RequirementFactory(project=task.project, text="canary")
    EventFactory(project=task.project, title="canary", description="canary", location="canary", attendees=["canary"])
    ProjectCalendarFactory(project=task.project, name="canary", description="canary")
    ProjectFactory(id=DESTINATION)
    for role in (MemberRole.EDITOR, MemberRole.VIEWER):
        MembershipFactory(project=task.project, subject=role.value, role=role)
    MembershipFactory(project=task.project, subject="left", role=MemberRole.OWNER, deleted_at=MADE_AT)
    ProjectFactory(created_by="stranger")
    return task


def fill_placeholders(args: Any, ids: dict[str, str]) -> Any:
    if isinstance(args, dict):
        return {name: fill_placeholders(value, ids) for name, value in args.items()}
    if isinstance(args, list):
        return [fill_placeholders(value, ids) for value in args]
    return ids.get(args, args) if isinstance(args, str) else args


def get_placeholder_ids(project: Project) -> dict[str, str]:
    """Return the ids of the project and of one row of each kind in it, by their placeholders in the table."""
    in_project = {
        f"{{{kind.name}}}": str(kind.get_rows().get(project=project).pk) for kind in ROWS if kind is not PROJECT
    }
    return in_project | {
        "{project}": str(project.pk),
        "{event}": str(project.events.get().pk),
        "{edge}": str(Edge.objects.get(project=project).pk),
        "{destination}": str(DESTINATION),
    }


CASES = [
    (tool, args, subject, refusal) for tool, (args, outcomes) in TABLE.items() for subject, refusal in outcomes.items()
]


def rows() -> list[Any]:
    models = [Membership, Edge, CalendarEvent, ProjectCalendar, *(kind.model for kind in ENTITY_TYPE_BY_NAME.values())]
    return [list(model._default_manager.order_by("pk").values()) for model in models]


@for_each("tool, args, subject, refusal", CASES, undone=True)
def test_op_access_by_role(
    task: Task, tool: str, args: dict[str, Any], subject: str, refusal: type[OpRefusal] | None
) -> None:
    args = fill_placeholders(args, get_placeholder_ids(task.project))
    before = rows()

    if refusal is None:
        assert call_handler(tool, subject=subject, **args).result
        return
    with pytest.raises(refusal):
        call_handler(tool, subject=subject, **args)
    assert rows() == before


@for_each("tool, subject", list(product(TABLE, ["left", "stranger", ""])), undone=True)
def test_foreign_ids_are_refused_exactly_like_unknown_ids(task: Task, tool: str, subject: str) -> None:
    args, _ = TABLE[tool]
    foreign = get_placeholder_ids(task.project)
    messages = []

    for ids in (foreign, {name: str(uuid.uuid4()) for name in foreign}):
        with pytest.raises(NotFound) as refused:
            call_handler(tool, subject=subject, **fill_placeholders(args, ids))
        messages.append((refused.value.message, refused.value.reason, refused.value.field_errors))

    assert messages[0] == messages[1]
    assert "canary" not in str(messages)


@pytest.mark.both_databases  # what lists and searches find is decided in SQL
@for_each("tool, subject", list(product([*LISTS, "search_ontology", "list_calendar_events"], ["left", "stranger", ""])))
def test_lists_reveal_nothing_about_foreign_rows(task: Task, tool: str, subject: str) -> None:
    for query in ("canary", "canarry", "canary or what you call it"):  # all words, similar titles, any word
        assert "canary" not in str(call_handler(tool, subject=subject, query=query))


@pytest.mark.both_databases
def test_lists_show_rows_to_members_of_every_role(task: Task) -> None:
    for subject in ("owner", "editor", "viewer"):
        for tool in LISTS:
            matches = call_handler(tool, subject=subject, query="canary").result[tool.rpartition("_")[2]]
            assert sum("canary" in str(row) for row in matches) == 1
        for query in ("canary", "canarry"):
            assert call_handler("search_ontology", subject=subject, query=query).result["total"] == len(ROWS)


@pytest.mark.both_databases
def test_search_all_omits_deleted_rows(task: Task) -> None:
    Document.objects.update(deleted_at=MADE_AT)
    assert call_handler("search_ontology", query="canary").result["total"] == len(ROWS) - 1

    Project.objects.filter(pk=task.project_id).update(deleted_at=MADE_AT)
    assert call_handler("search_ontology", query="canary").result["total"] == 0
    assert call_handler("search_ontology", query="canarry").result["total"] == 0


def test_access_table_has_every_op() -> None:
    assert set(TABLE) | set(OPEN) | {"undo_onto_writes"} == set(HANDLERS)  # tested in history/test_undo.py


@for_each("tool", OPEN, undone=True)
def test_ops_without_row_ids_are_open_to_every_subject(task: Task, tool: str) -> None:
    assert call_handler(tool, subject="nobody yet", **OPEN[tool]).result
