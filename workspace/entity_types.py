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
    filter_overdue,
    is_missed,
    is_overdue,
)
from workspace.models.base import TagsField

ComputedField = Callable[
    [Mapping[str, Any], datetime], Any
]  # computed from a row's columns and the time of the request

REPLACE, APPEND, PREPEND, MERGE = "replace", "append", "prepend", "merge_llm"  # update strategies for long texts


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column to sort by. Nulls sort last unless `none_first` is set."""

    column: str
    descending: bool = False
    none_first: bool = False


@dataclass(frozen=True, slots=True)
class SortOrder:
    """A sort order: its name in sort_by, its description for messages, and its keys. Ties sort by id, descending."""

    name: str
    description: str
    keys: tuple[SortKey, ...]


BY_UPDATE = SortOrder("updated", "newest update first", (SortKey("updated_at", descending=True),))
BY_CREATION = SortOrder("created_at", "newest first", (SortKey("created_at", descending=True),))
BY_PRIORITY = SortOrder("priority", "most urgent first", (SortKey("priority"), SortKey("updated_at", descending=True)))
BY_START = SortOrder("start_at", "earliest start first, no start last", (SortKey("start_at"),))
BY_START_DATE = SortOrder("start_date", "earliest start first, no start last", (SortKey("start_date"),))
BY_DEADLINE = SortOrder("due_at", "earliest due first, no due date last", (SortKey("due_at"),))
BY_COMPLETION = SortOrder(
    "completed_at", "latest completion first, not completed last", (SortKey("completed_at", descending=True),)
)
BY_DUE = SortOrder("due_at", "no due date first, then earliest", (SortKey("due_at", none_first=True),))


@dataclass(frozen=True, kw_only=True, eq=False)
class EntityType:
    """An entity type: its names, and the role that each of its columns plays."""

    name: str  # the singular, as in op names, results and id arguments
    plural: str
    model: type[Entity]
    label: str  # the column with the display name of a row
    fields: tuple[str, ...]  # the columns that create and update can set
    list_row: tuple[str, ...]  # the fields of a list row, without the text previews
    texts: Mapping[str, int]  # long texts, and the length of <name>_preview in list rows
    unlisted_texts: tuple[str, ...] = ()  # texts that a list row shows only if they are asked for
    added_fields: tuple[str, ...] = ()  # fields that the list op adds to the rows itself
    extra_columns: tuple[str, ...] = ()  # columns that a list reads only to compute other fields
    full_row: tuple[str, ...]  # the fields that get, create and update return
    long_texts: tuple[str, ...]  # long texts, the most important first; the last ones are cut first
    update_strategies: Mapping[str, str] = field(
        default_factory=dict
    )  # texts with update strategies, and the default of each
    search_columns: tuple[str, ...]  # the columns that the type's own search covers
    filters: Mapping[str, Q | Exists] = field(default_factory=dict)  # boolean arguments, and the condition for true
    parent_column: str = ""  # the column with the id of the row of this type that it is a part of, if there is one
    link_filters: Mapping[str, str] = field(default_factory=dict)  # id arguments of linked rows, and the type of each
    range_filters: Mapping[str, str] = field(default_factory=dict)  # arguments with a time, and the lookup of each
    timed_filters: Mapping[str, Callable[[datetime], Q]] = field(
        default_factory=dict
    )  # boolean arguments, and the condition for true at a time
    orders: tuple[SortOrder, ...] = (BY_UPDATE,)  # the sort orders of a list; the first is the default
    final_states: tuple[str, ...] = ()  # final states; the search over all types ranks these rows slightly lower
    span_columns: tuple[str, str] | None = None  # the columns of its start and end, if any
    completion_stamp: tuple[str, str] | None = None  # the final state, and the column with the time it was entered
    required_columns: Mapping[str, str] = field(
        default_factory=dict
    )  # columns that require another column, and which one
    computed_fields: Mapping[str, ComputedField] = field(default_factory=dict)  # computed fields of every row
    domain: str = "onto"  # the first part of its op paths

    @cached_property
    def columns(self) -> frozenset[str]:
        """The names of the database columns, with foreign keys as <name>_id; without computed fields."""
        return frozenset(column.attname for column in self.model._meta.concrete_fields)

    @cached_property
    def nullable_texts(self) -> frozenset[str]:
        """The names of the text columns that can be empty. Results show an empty text as null."""
        columns = self.model._meta.concrete_fields
        texts = [column for column in columns if isinstance(column, CharField | TextField)]
        return frozenset(column.name for column in texts if column.blank and not isinstance(column, TagsField))

    @cached_property
    def answer_fields(self) -> tuple[str, ...]:
        """The names of all fields that an answer can show of a row."""
        return (*self.full_row, *self.computed_fields)

    @cached_property
    def preview_fields(self) -> tuple[str, ...]:
        """The names of the beginnings of long texts in a list row."""
        return tuple(f"{name}_preview" for name in self.texts)

    @cached_property
    def row_fields(self) -> tuple[str, ...]:
        """The fields that only rows of lists have: previews, and what is computed from a column that they leave out."""
        only_listed = (name for name in self.list_row if name not in self.answer_fields)
        return (*self.preview_fields, *only_listed, *self.added_fields)

    @property
    def has_state(self) -> bool:
        """Whether rows of this type have a state."""
        return "state_key" in self.full_row

    @property
    def id_argument(self) -> str:
        """The argument that holds a row's id, such as task_id."""
        return f"{self.name}_id"

    def get_order(self, name: str | None) -> SortOrder:
        """Return the sort order with this name, or the default."""
        return next((order for order in self.orders if order.name == name), self.orders[0])

    def get_rows(self) -> EntityQuerySet[Any]:
        """Return all rows of this type, without any access check."""
        return cast("EntityQuerySet[Any]", self.model._default_manager.all())

    def get_op_path(self, action: str) -> str:
        """Return the path of the op for this action, such as onto.task.get."""
        return f"{self.domain}.{self.name}.{action}"


PROJECT = EntityType(
    name="project",
    plural="projects",
    model=Project,
    label="name",
    fields=tuple(
        "name slug description executive_summary tags context type_key state_key start_at end_at props".split()
    ),
    list_row=tuple("id name state_key start_at end_at task_count active_task_count".split()),
    added_fields=("role",),
    texts={"description": 100, "executive_summary": 500, "context": 500},
    unlisted_texts=("executive_summary", "context"),
    full_row=tuple(
        """
    id name slug description executive_summary tags context type_key state_key start_at end_at completed_at
    props task_count active_task_count completed_task_count completion_percentage has_phases has_notes
    has_brain_dumps created_by created_at updated_at
""".split()
    ),
    long_texts=("executive_summary", "description", "context"),
    update_strategies={"description": REPLACE, "context": APPEND},
    search_columns=("name", "description", "tags"),
    filters={
        "has_active_tasks": Exists(
            Task.objects.filter(project=OuterRef("pk"), deleted_at=None).exclude(state_key=TaskState.DONE)
        )
    },
    final_states=(ProjectState.COMPLETED, ProjectState.CANCELLED),
    span_columns=("start_at", "end_at"),
    completion_stamp=(ProjectState.COMPLETED, "completed_at"),
)

TASK = EntityType(
    name="task",
    plural="tasks",
    model=Task,
    label="title",
    fields=tuple(
        """
    title description details type_key state_key priority start_at due_at duration_minutes recurrence
    recurrence_until parent_task_id props
""".split()
    ),
    list_row=tuple(
        """
    id project_id project_name title state_key priority start_at due_at completed_at has_subtasks has_dependencies
    is_recurring
""".split()
    ),
    texts={"description": 100, "details": 100},
    unlisted_texts=("details",),
    extra_columns=("recurrence",),
    full_row=tuple(
        """
    id project_id project_name title description details type_key state_key priority start_at due_at
    duration_minutes recurrence recurrence_until parent_task_id completed_at props has_subtasks has_dependencies
    is_recurring created_by created_at updated_at
""".split()
    ),
    long_texts=("description", "details"),
    update_strategies={"description": REPLACE, "details": REPLACE},
    search_columns=("title",),
    filters={"has_date": Q(start_at__isnull=False) | Q(due_at__isnull=False)},
    parent_column="parent_task_id",
    link_filters={"plan_id": "plan"},
    range_filters={"due_after": "due_at__gte", "due_before": "due_at__lt", "completed_after": "completed_at__gte"},
    timed_filters={"overdue": filter_overdue},
    orders=(BY_UPDATE, BY_PRIORITY, BY_START, BY_DEADLINE, BY_CREATION, BY_COMPLETION),
    final_states=(TaskState.DONE,),
    span_columns=("start_at", "due_at"),
    completion_stamp=(TaskState.DONE, "completed_at"),
    required_columns={"recurrence_until": "recurrence"},
    computed_fields={"is_overdue": is_overdue},
)

DOCUMENT = EntityType(
    name="document",
    plural="documents",
    model=Document,
    label="title",
    fields=tuple("title description content type_key state_key category tags ai_summary operation_count props".split()),
    list_row=tuple(
        """
    id project_id project_name title type_key state_key category tags operation_count created_at content_length
""".split()
    ),
    texts={"description": 100, "content": 200, "ai_summary": 500},
    full_row=tuple(
        """
    id project_id project_name parent_id position title description content type_key state_key category tags
    ai_summary operation_count props created_by created_at updated_at
""".split()
    ),
    long_texts=("content", "ai_summary", "description"),
    update_strategies={"description": REPLACE, "content": REPLACE},
    search_columns=("title", "description", "content", "tags"),
    final_states=(DocumentState.ARCHIVED,),
)

GOAL = EntityType(
    name="goal",
    plural="goals",
    model=Goal,
    label="name",
    fields=tuple("name description type_key state_key priority target_date measurement_criteria props".split()),
    list_row=(
        "id",
        "project_id",
        "project_name",
        "name",
        "type_key",
        "state_key",
        "priority",
        "target_date",
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
    long_texts=("description", "measurement_criteria"),
    update_strategies={"description": REPLACE},
    search_columns=("name", "description"),
    orders=(BY_CREATION,),
    final_states=(GoalState.ACHIEVED, GoalState.ABANDONED),
    completion_stamp=(GoalState.ACHIEVED, "completed_at"),
)

PLAN = EntityType(
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
    long_texts=("plan", "description"),
    update_strategies={"description": REPLACE},
    search_columns=("name", "description"),
    orders=(BY_UPDATE, BY_START_DATE),
    final_states=(PlanState.COMPLETED,),
    span_columns=("start_date", "end_date"),
    completion_stamp=(PlanState.COMPLETED, "completed_at"),
)

MILESTONE = EntityType(
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
    long_texts=("description",),
    search_columns=("title", "description"),
    orders=(BY_DUE,),
    final_states=(MilestoneState.COMPLETED,),
    completion_stamp=(MilestoneState.COMPLETED, "completed_at"),
    computed_fields={"is_missed": is_missed},
)

RISK = EntityType(
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
    long_texts=("content", "description"),
    search_columns=("title", "description"),
    final_states=(RiskState.MITIGATED, RiskState.CLOSED),
    completion_stamp=(RiskState.MITIGATED, "mitigated_at"),
)

REQUIREMENT = EntityType(
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
    long_texts=("text",),
    orders=(BY_CREATION,),
    search_columns=("text",),
)

ENTITY_TYPE_BY_NAME = {kind.name: kind for kind in (PROJECT, TASK, DOCUMENT, GOAL, PLAN, MILESTONE, RISK, REQUIREMENT)}

# Calendar entries have their own ops: their times depend on a time zone, and an event may belong to no project.
EVENT = EntityType(
    name="event",
    plural="events",
    model=CalendarEvent,
    label="title",
    fields=("title", "description", "location", "attendees", "recurrence"),  # times: services/event_times.py
    list_row=("id", "title", "location", "recurrence", "project_id", "project_name", "task_event_kind"),
    texts={},
    full_row=tuple(
        """
    id title description location attendees recurrence time_zone project_id project_name task_event_kind props
    created_by created_at updated_at
""".split()
    ),
    long_texts=("description",),
    search_columns=("title", "description", "location"),
    domain="cal",
)

CALENDAR = EntityType(
    name="calendar",
    plural="calendars",
    model=ProjectCalendar,
    label="name",
    fields=("name", "description", "color_id", "sync_enabled"),
    list_row=("id", "project_id", "project_name", "name"),
    texts={},
    full_row=tuple(
        """
    id project_id project_name name description color_id sync_enabled time_zone created_by created_at updated_at
""".split()
    ),
    long_texts=("description",),
    search_columns=("name",),
    domain="cal",
)
