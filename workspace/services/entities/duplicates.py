"""Find duplicates of a new row, and the states that aliases mean."""

import re
from typing import Any, cast

from workspace.entity_types import EntityType
from workspace.models import Document, Entity, Task
from workspace.services.entities.serialization import quote_name

MAX_ROWS = 1_000  # compared with a new row, the newest first
ARTICLES = frozenset({"a", "an", "the"})
MIN_PLURAL_LENGTH = 4  # letters of a word whose last s is left out: not of "is"
_WORD = re.compile(r"\w+")

# Words with the same meaning. No type has two states in one line, so each word means at most one state of a type.
STATE_ALIASES: tuple[frozenset[str], ...] = (
    frozenset({"todo", "pending", "draft", "identified", "planned", "not_started", "backlog", "open", "new"}),
    frozenset({"in_progress", "active", "started", "working", "ongoing", "doing"}),
    frozenset({"done", "completed", "achieved", "closed", "complete", "finished"}),
    frozenset({"abandoned", "cancelled", "dropped"}),
)


def warn_about_duplicate(row: Entity, *, kind: EntityType) -> tuple[str, ...]:
    """Return a warning with the id of the newest open row next to a new one that has its title, if any.

    Next to it are the rows of its project, for tasks and documents those with the same parent. Case, punctuation,
    articles and plurals make no difference. Takes one query.
    """
    words = _split_title(getattr(row, kind.label))
    if not words:
        return ()
    titles = _filter_siblings(row, kind).order_by("-created_at").values_list("pk", kind.label)[:MAX_ROWS]
    for id, title in titles:
        if _split_title(title) == words:
            return (f"A {kind.name} {quote_name(title)} already exists ({id}). If it is the same, delete the new one.",)
    return ()


def _split_title(title: str) -> list[str]:
    words = [word for word in _WORD.findall(title.casefold()) if word not in ARTICLES]
    return [word.removesuffix("s") if len(word) >= MIN_PLURAL_LENGTH else word for word in words]


def _filter_siblings(row: Entity, kind: EntityType) -> Any:
    project_id = cast("Any", row).project_id  # Entity has no project field: not every kind is in a project
    rows = kind.get_rows().filter(project=project_id, deleted_at=None).exclude(pk=row.pk)
    if isinstance(row, Task):
        rows = rows.filter(parent_task=row.parent_task_id)
    elif isinstance(row, Document):
        rows = rows.filter(parent=row.parent_id)
    return rows.exclude(state_key__in=kind.final_states) if kind.final_states else rows


def list_states(kind: EntityType) -> list[str]:
    """Return the states of a type, the initial one first."""
    model: Any = kind.model  # Any: not every entity has a state
    return [value for value, _ in model._meta.get_field("state_key").flatchoices] if kind.has_state else []


def resolve_state(word: str, kind: EntityType) -> str | None:
    """Return the state of a type that a word means, or None."""
    states = list_states(kind)
    if word in states:
        return word
    normalised = word.strip().casefold().replace(" ", "_").replace("-", "_")
    synonyms = next((words for words in STATE_ALIASES if normalised in words), frozenset({normalised}))
    return next((state for state in states if state in synonyms), None)
