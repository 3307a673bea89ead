"""The entity types: what the generic reads and writes need to know about each. Register a new entity type here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, cast

from django.db.models import CharField, Exists, OuterRef, Q, TextField

from workspace.models import (
    CalendarEvent,
    Document,
    DocumentState,
    Entity,
    EntityQuerySet,
    Goal,
    GoalState,
    Milestone,
    MilestoneState,
    Plan,
    PlanState,
    Project,
    ProjectCalendar,
    ProjectState,
    Requirement,
    Risk,
    RiskState,
    Task,
    TaskState,
    is_missed,
    is_overdue,
)
from workspace.models.tags import TagsField

Fact = Callable[[Mapping[str, Any], datetime], Any]  # computed from a row's columns and the time of the request

REPLACE, APPEND, PREPEND, MERGE = "replace", "append", "prepend", "merge_llm"  # update strategies for long texts


@dataclass(frozen=True, slots=True)
class Key:
    """A column to sort by. Nulls sort last unless `none_first` is set."""

    column: str
    descending: bool = False
    none_first: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """A sort order: its name in sort_by, its description for messages, and its keys. Ties sort by id, descending."""

    name: str
    told: str
    keys: tuple[Key, ...]


BY_UPDATE = Order("updated", "newest update first", (Key("updated_at", descending=True),))
BY_CREATION = Order("created_at", "newest first", (Key("created_at", descending=True),))
BY_PRIORITY = Order("priority", "most urgent first", (Key("priority"), Key("updated_at", descending=True)))
BY_START = Order("start_at", "earliest start first, no start last", (Key("start_at"),))
BY_START_DATE = Order("start_date", "earliest start first, no start last", (Key("start_date"),))
BY_DUE = Order("due_at", "no due date first, then earliest", (Key("due_at", none_first=True),))


@dataclass(frozen=True, kw_only=True, eq=False)
class Kind:
    """An entity type: its names, and the role that each of its columns plays."""

    name: str  # the singular, as in op names, results and id arguments
    plural: str
    model: type[Entity]
    label: str  # the column with the display name of a row
    fields: tuple[str, ...]  # the columns that create and update can set
    list_row: tuple[str, ...]  # the fields of a list row, without the text previews
    texts: Mapping[str, int]  # long texts, and the length of <name>_preview in list rows
    concise: tuple[str, ...] = ()  # texts that a list row shows as <name> if they fit into the preview
    hinted: tuple[str, ...] = ()  # columns that a list reads only to compute other fields
    full_row: tuple[str, ...]  # the fields that get, create and update return
    long: tuple[str, ...]  # long texts, the most important first; the last ones are cut first
    merged: Mapping[str, str] = field(default_factory=dict)  # texts with update strategies, and the default of each
    searched: tuple[str, ...]  # the columns that the type's own search covers
    filters: Mapping[str, Q | Exists] = field(default_factory=dict)  # boolean arguments, and the condition for true
    orders: tuple[Order, ...] = (BY_UPDATE,)  # the sort orders of a list; the first is the default
    finished: tuple[str, ...] = ()  # final states; the search over all types ranks these rows slightly lower
    span: tuple[str, str] | None = None  # the columns of its start and end, if any
    stamp: tuple[str, str] | None = None  # the final state, and the column with the time it was entered
    needs: Mapping[str, str] = field(default_factory=dict)  # columns that require another column, and which one
    facts: Mapping[str, Fact] = field(default_factory=dict)  # computed fields of every row
    domain: str = "onto"  # the first part of its op paths

    @cached_property
    def columns(self) -> frozenset[str]:
        """The names of the database columns, with foreign keys as <name>_id; without computed fields."""
        return frozenset(each.attname for each in self.model._meta.concrete_fields)

    @cached_property
    def may_be_blank(self) -> frozenset[str]:
        """The names of the text columns that can be empty. Results show an empty text as null."""
        columns = self.model._meta.concrete_fields
        texts = [each for each in columns if isinstance(each, CharField | TextField)]
        return frozenset(each.name for each in texts if each.blank and not isinstance(each, TagsField))

    @property
    def has_state(self) -> bool:
        """Whether rows of this type have a state."""
        return "state_key" in self.full_row

    @property
    def id_argument(self) -> str:
        """The argument that holds a row's id, such as task_id."""
        return f"{self.name}_id"

    def order(self, name: str | None) -> Order:
        """Return the sort order with this name, or the default."""
        return next((each for each in self.orders if each.name == name), self.orders[0])

    def rows(self) -> EntityQuerySet[Any]:
        """Return all rows of this type, without any access check."""
        return cast("EntityQuerySet[Any]", self.model._default_manager.all())

    def path(self, action: str) -> str:
        """Return the path of the op for this action, such as onto.task.get."""
        return f"{self.domain}.{self.name}.{action}"


PROJECT = Kind(
    name="project",
    plural="projects",
    model=Project,
    label="name",
    fields=(
        *("name", "slug", "description", "executive_summary", "tags", "context"),
        *("type_key", "state_key", "start_at", "end_at", "props"),
    ),
    list_row=(
        *("id", "name", "slug", "type_key", "state_key", "start_at", "end_at", "updated_at", "tags"),
        *("task_count", "active_task_count", "completed_task_count", "completion_percentage"),
        *("has_phases", "has_notes", "has_brain_dumps"),
    ),
    texts={"description": 200, "executive_summary": 500, "context": 500},
    concise=("description", "executive_summary"),
    full_row=(
        *("id", "name", "slug", "description", "executive_summary", "tags", "context"),
        *("type_key", "state_key", "start_at", "end_at", "completed_at", "props"),
        *("task_count", "active_task_count", "completed_task_count", "completion_percentage"),
        *("has_phases", "has_notes", "has_brain_dumps"),
        *("created_by", "created_at", "updated_at"),
    ),
    long=("executive_summary", "description", "context"),
    merged={"description": REPLACE, "context": APPEND},
    searched=("name", "description", "tags"),
    filters={
        "has_active_tasks": Exists(
            Task.objects.filter(project=OuterRef("pk"), deleted_at=None).exclude(state_key=TaskState.DONE)
        )
    },
    finished=(ProjectState.COMPLETED, ProjectState.CANCELLED),
    span=("start_at", "end_at"),
    stamp=(ProjectState.COMPLETED, "completed_at"),
)

TASK = Kind(
    name="task",
    plural="tasks",
    model=Task,
    label="title",
    fields=(
        *("title", "description", "details", "type_key", "state_key", "priority", "start_at", "due_at"),
        *("duration_minutes", "recurrence", "recurrence_until", "parent_task_id", "props"),
    ),
    list_row=(
        *("id", "project_id", "project_name", "title", "state_key", "priority", "start_at", "due_at"),
        *("duration_minutes", "updated_at", "has_subtasks", "has_dependencies", "is_recurring"),
    ),
    texts={"description": 100, "details": 100},
    hinted=("recurrence",),
    full_row=(
        *("id", "project_id", "project_name", "title", "description", "details", "type_key", "state_key", "priority"),
        *("start_at", "due_at", "duration_minutes", "recurrence", "recurrence_until", "parent_task_id"),
        *("completed_at", "props"),
        *("has_subtasks", "has_dependencies", "is_recurring", "created_by", "created_at", "updated_at"),
    ),
    long=("description", "details"),
    merged={"description": REPLACE},
    searched=("title",),
    filters={"has_date": Q(start_at__isnull=False) | Q(due_at__isnull=False)},
    orders=(BY_UPDATE, BY_PRIORITY, BY_START, BY_CREATION),
    finished=(TaskState.DONE,),
    span=("start_at", "due_at"),
    stamp=(TaskState.DONE, "completed_at"),
    needs={"recurrence_until": "recurrence"},
    facts={"is_overdue": is_overdue},
)

DOCUMENT = Kind(
    name="document",
    plural="documents",
    model=Document,
    label="title",
    fields=(
        *("title", "description", "content", "type_key", "state_key", "category", "ai_summary", "operation_count"),
        "props",
    ),
    list_row=(
        *("id", "project_id", "project_name", "title", "type_key", "state_key", "category", "operation_count"),
        *("created_at", "updated_at", "content_length"),
    ),
    texts={"description": 100, "content": 200, "ai_summary": 500},
    concise=("ai_summary",),
    full_row=(
        *("id", "project_id", "project_name", "parent_id", "position", "title", "description", "content"),
        *("type_key", "state_key", "category", "ai_summary", "operation_count", "props"),
        *("created_by", "created_at", "updated_at"),
    ),
    long=("content", "ai_summary", "description"),
    merged={"description": REPLACE, "content": REPLACE},
    searched=("title", "description", "content"),
    finished=(DocumentState.ARCHIVED,),
)

GOAL = Kind(
    name="goal",
    plural="goals",
    model=Goal,
    label="name",
    fields=(
        *("name", "description", "type_key", "state_key", "priority", "target_date", "measurement_criteria"),
        "props",
    ),
    list_row=(
        "id",
        "project_id",
        "project_name",
        "name",
        "type_key",
        "state_key",
        "priority",
        "target_date",
        "updated_at",
    ),
    texts={"description": 100},
    full_row=(
        "id",
        "project_id",
        "project_name",
        "name",
        "description",
        "type_key",
        "state_key",
        "priority",
        "target_date",
        "measurement_criteria",
        "completed_at",
        "props",
        "created_by",
        "created_at",
        "updated_at",
    ),
    long=("description", "measurement_criteria"),
    merged={"description": REPLACE},
    searched=("name", "description"),
    orders=(BY_CREATION,),
    finished=(GoalState.ACHIEVED, GoalState.ABANDONED),
    stamp=(GoalState.ACHIEVED, "completed_at"),
)

PLAN = Kind(
    name="plan",
    plural="plans",
    model=Plan,
    label="name",
    fields=("name", "description", "type_key", "state_key", "plan", "start_date", "end_date", "props"),
    list_row=(
        "id",
        "project_id",
        "project_name",
        "name",
        "type_key",
        "state_key",
        "start_date",
        "end_date",
        "updated_at",
    ),
    texts={"description": 100, "plan": 200},
    full_row=(
        "id",
        "project_id",
        "project_name",
        "name",
        "description",
        "plan",
        "type_key",
        "state_key",
        "start_date",
        "end_date",
        "completed_at",
        "props",
        "created_by",
        "created_at",
        "updated_at",
    ),
    long=("plan", "description"),
    merged={"description": REPLACE},
    searched=("name", "description"),
    orders=(BY_UPDATE, BY_START_DATE),
    finished=(PlanState.COMPLETED,),
    span=("start_date", "end_date"),
    stamp=(PlanState.COMPLETED, "completed_at"),
)

MILESTONE = Kind(
    name="milestone",
    plural="milestones",
    model=Milestone,
    label="title",
    fields=("title", "description", "type_key", "state_key", "due_at", "props"),
    list_row=(
        "id",
        "project_id",
        "project_name",
        "title",
        "state_key",
        "due_at",
        "updated_at",
    ),
    texts={"description": 100},
    full_row=(
        "id",
        "project_id",
        "project_name",
        "title",
        "description",
        "type_key",
        "state_key",
        "due_at",
        "completed_at",
        "props",
        "created_by",
        "created_at",
        "updated_at",
    ),
    long=("description",),
    searched=("title", "description"),
    orders=(BY_DUE,),
    finished=(MilestoneState.COMPLETED,),
    stamp=(MilestoneState.COMPLETED, "completed_at"),
    facts={"is_missed": is_missed},
)

RISK = Kind(
    name="risk",
    plural="risks",
    model=Risk,
    label="title",
    fields=("title", "description", "type_key", "state_key", "impact", "probability", "content", "props"),
    list_row=(
        "id",
        "project_id",
        "project_name",
        "title",
        "state_key",
        "impact",
        "probability",
        "updated_at",
    ),
    texts={"description": 100, "content": 100},
    full_row=(
        "id",
        "project_id",
        "project_name",
        "title",
        "description",
        "content",
        "type_key",
        "state_key",
        "impact",
        "probability",
        "mitigated_at",
        "props",
        "created_by",
        "created_at",
        "updated_at",
    ),
    long=("content", "description"),
    searched=("title", "description"),
    finished=(RiskState.MITIGATED, RiskState.CLOSED),
    stamp=(RiskState.MITIGATED, "mitigated_at"),
)

REQUIREMENT = Kind(
    name="requirement",
    plural="requirements",
    model=Requirement,
    label="text",
    fields=("text", "type_key", "priority", "props"),
    list_row=(
        "id",
        "project_id",
        "project_name",
        "text",
        "type_key",
        "priority",
        "updated_at",
    ),
    texts={},
    full_row=(
        "id",
        "project_id",
        "project_name",
        "text",
        "type_key",
        "priority",
        "props",
        "created_by",
        "created_at",
        "updated_at",
    ),
    long=("text",),
    orders=(BY_CREATION,),
    searched=("text",),
)

KINDS = {kind.name: kind for kind in (PROJECT, TASK, DOCUMENT, GOAL, PLAN, MILESTONE, RISK, REQUIREMENT)}

# Calendar entries have their own ops: their times depend on a time zone, and an event may belong to no project.
EVENT = Kind(
    name="event",
    plural="events",
    model=CalendarEvent,
    label="title",
    fields=("title", "description", "location", "attendees", "recurrence"),  # times: services/event_times.py
    list_row=("id", "title", "location", "recurrence", "project_id", "project_name", "task_event_kind"),
    texts={},
    full_row=(
        *("id", "title", "description", "location", "attendees", "recurrence", "time_zone"),
        *("project_id", "project_name", "task_event_kind", "props", "created_by", "created_at", "updated_at"),
    ),
    long=("description",),
    searched=("title", "description", "location"),
    domain="cal",
)

CALENDAR = Kind(
    name="calendar",
    plural="calendars",
    model=ProjectCalendar,
    label="name",
    fields=("name", "description", "color_id", "sync_enabled"),
    list_row=("id", "project_id", "project_name", "name"),
    texts={},
    full_row=(
        *("id", "project_id", "project_name", "name", "description", "color_id", "sync_enabled", "time_zone"),
        *("created_by", "created_at", "updated_at"),
    ),
    long=("description",),
    searched=("name",),
    domain="cal",
)
