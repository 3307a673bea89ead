"""The kinds of entities: what the shared reads and writes need to know of each. A new entity gets its line here."""

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

Fact = Callable[[Mapping[str, Any], datetime], Any]  # of a row's columns and the time of the request

REPLACE, APPEND, PREPEND, MERGE = "replace", "append", "prepend", "merge_llm"  # how an update treats a long text


@dataclass(frozen=True, slots=True)
class Key:
    """A column to sort by. Rows without a value come last unless `none_first`."""

    column: str
    descending: bool = False
    none_first: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """One way to sort a list: its name in sort_by, and what a message calls it. Ties go to the newest id."""

    name: str
    told: str
    keys: tuple[Key, ...]


BY_UPDATE = Order("updated", "newest update first", (Key("updated_at", descending=True),))
BY_CREATION = Order("created_at", "newest first", (Key("created_at", descending=True),))
BY_PRIORITY = Order("priority", "most urgent first", (Key("priority"), Key("updated_at", descending=True)))
BY_START = Order("start_at", "earliest start first, those without one last", (Key("start_at"),))
BY_START_DATE = Order("start_date", "earliest start first, those without one last", (Key("start_date"),))
BY_DUE = Order("due_at", "those without a due date first, then the earliest", (Key("due_at", none_first=True),))


@dataclass(frozen=True, kw_only=True, eq=False)
class Kind:
    """What a kind of entity is called, and which of its columns play which part."""

    name: str  # the word for one row: in ops, in results and in the id argument
    plural: str
    model: type[Entity]
    label: str  # the column that names a row to people
    fields: tuple[str, ...]  # what create and update may set
    list_row: tuple[str, ...]  # what a row says in lists, the previews apart
    texts: Mapping[str, int]  # columns of long text, and how many characters of each a list shows as <name>_preview
    concise: tuple[str, ...] = ()  # those texts that a list shows as <name> where they are no longer than that
    hinted: tuple[str, ...] = ()  # columns that a list reads for its hints alone
    full_row: tuple[str, ...]  # what get, create and update answer
    long: tuple[str, ...]  # its columns of long text, the most telling first: the last are cut first
    merged: Mapping[str, str] = field(default_factory=dict)  # texts that update strategies apply to, each's default
    searched: tuple[str, ...]  # columns that the kind's own search looks into
    filters: Mapping[str, Q | Exists] = field(default_factory=dict)  # arguments true or false, and what is true then
    orders: tuple[Order, ...] = (BY_UPDATE,)  # the ways to sort a list; the first is the default
    finished: tuple[str, ...] = ()  # the states of what is over, which the search over kinds puts a little lower
    span: tuple[str, str] | None = None  # the columns of its start and its end, where it has them
    stamp: tuple[str, str] | None = None  # the state that ends the work, and the column that tells when it was entered
    needs: Mapping[str, str] = field(default_factory=dict)  # columns that say nothing without another, and that other
    facts: Mapping[str, Fact] = field(default_factory=dict)  # what every row says besides and no column holds
    domain: str = "onto"  # what its ops' paths begin with

    @cached_property
    def columns(self) -> frozenset[str]:
        """Name the columns, foreign keys by their ids: what a row is made of, and not what is worked out from it."""
        return frozenset(each.attname for each in self.model._meta.concrete_fields)

    @cached_property
    def may_be_blank(self) -> frozenset[str]:
        """Name the text columns that may be empty: outside, an empty one is null."""
        columns = self.model._meta.concrete_fields
        texts = [each for each in columns if isinstance(each, CharField | TextField)]
        return frozenset(each.name for each in texts if each.blank and not isinstance(each, TagsField))

    @property
    def has_state(self) -> bool:
        """Whether rows of the kind stand in a state."""
        return "state_key" in self.full_row

    @property
    def id_argument(self) -> str:
        """Name the argument that holds a row's id, such as task_id."""
        return f"{self.name}_id"

    def order(self, name: str | None) -> Order:
        """Return the order of a name, the default without one."""
        return next((each for each in self.orders if each.name == name), self.orders[0])

    def rows(self) -> EntityQuerySet[Any]:
        """Return all rows of this kind, those that nobody may see included."""
        return cast("EntityQuerySet[Any]", self.model._default_manager.all())

    def path(self, action: str) -> str:
        """Name the op that does this with rows of this kind."""
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

# What stands in calendars has ops of its own: its times are told in somebody's zone, and it may lie in no project.
EVENT = Kind(
    name="event",
    plural="events",
    model=CalendarEvent,
    label="title",
    fields=("title", "description", "location", "attendees", "recurrence"),  # its times are read in a zone, apart
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
