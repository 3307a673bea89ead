"""The kinds of entities: what the shared reads and writes need to know of each. A new entity gets its line here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from workspace.models import (
    Document,
    DocumentState,
    Entity,
    EntityQuerySet,
    Project,
    ProjectState,
    Task,
    TaskState,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """What a kind of entity is called, and which of its columns play which part."""

    name: str  # the word for one row: in ops, in results and in the id argument
    plural: str
    model: type[Entity]
    label: str  # the column that names a row to people
    fields: tuple[str, ...]  # what create and update may set
    list_row: tuple[str, ...]  # what a row says in lists, the previews apart
    texts: Mapping[str, int]  # columns of long text, and how many characters of each a list shows as <name>_preview
    full_row: tuple[str, ...]  # what get, create and update answer
    searched: tuple[str, ...]  # columns that the kind's own search looks into
    finished: tuple[str, ...]  # the states of what is over, which the search over kinds puts a little lower
    span: tuple[str, str] | None = None  # the columns of its start and its end, where it has them
    stamp: tuple[str, str] | None = None  # the state that ends the work, and the column that tells when it was entered

    @property
    def id_argument(self) -> str:
        """Name the argument that holds a row's id, such as task_id."""
        return f"{self.name}_id"

    def rows(self) -> EntityQuerySet[Any]:
        """Return all rows of this kind, those that nobody may see included."""
        return cast("EntityQuerySet[Any]", self.model._default_manager.all())

    def path(self, action: str) -> str:
        """Name the op that does this with rows of this kind."""
        return f"onto.{self.name}.{action}"


PROJECT = Kind(
    name="project",
    plural="projects",
    model=Project,
    label="name",
    fields=("name", "description", "type_key", "state_key", "start_at", "end_at", "props"),
    list_row=(
        "id",
        "name",
        "type_key",
        "state_key",
        "start_at",
        "end_at",
        "updated_at",
        "task_count",
        "done_task_count",
    ),
    texts={"description": 200},
    full_row=(
        "id",
        "name",
        "description",
        "type_key",
        "state_key",
        "start_at",
        "end_at",
        "completed_at",
        "props",
        "task_count",
        "done_task_count",
        "created_by",
        "created_at",
        "updated_at",
    ),
    searched=("name", "description"),
    finished=(ProjectState.COMPLETED, ProjectState.CANCELLED),
    span=("start_at", "end_at"),
    stamp=(ProjectState.COMPLETED, "completed_at"),
)

TASK = Kind(
    name="task",
    plural="tasks",
    model=Task,
    label="title",
    fields=("title", "description", "type_key", "state_key", "priority", "start_at", "due_at", "props"),
    list_row=(
        "id",
        "project_id",
        "project_name",
        "title",
        "state_key",
        "priority",
        "start_at",
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
        "priority",
        "start_at",
        "due_at",
        "completed_at",
        "props",
        "created_by",
        "created_at",
        "updated_at",
    ),
    searched=("title",),
    finished=(TaskState.DONE,),
    span=("start_at", "due_at"),
    stamp=(TaskState.DONE, "completed_at"),
)

DOCUMENT = Kind(
    name="document",
    plural="documents",
    model=Document,
    label="title",
    fields=("title", "description", "content", "type_key", "state_key", "props"),
    list_row=(
        "id",
        "project_id",
        "project_name",
        "title",
        "type_key",
        "state_key",
        "updated_at",
        "content_length",
    ),
    texts={"description": 100, "content": 200},
    full_row=(
        "id",
        "project_id",
        "project_name",
        "title",
        "description",
        "content",
        "type_key",
        "state_key",
        "props",
        "created_by",
        "created_at",
        "updated_at",
    ),
    searched=("title", "description"),
    finished=(DocumentState.ARCHIVED,),
)

KINDS = {kind.name: kind for kind in (PROJECT, TASK, DOCUMENT)}
