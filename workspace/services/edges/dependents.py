"""What hangs on a row that is deleted, in words: its repeats, its subtasks, its links, and what is in a project."""

from collections.abc import Sequence

from workspace.entity_types import ENTITY_TYPE_BY_NAME, EVENT, PROJECT, TASK
from workspace.models import Entity, Project, Task
from workspace.services.edges import linked_rows
from workspace.services.entities.names import quote_name

MAX_NAMED = 3
MAX_COUNTED = 50


def describe_dependents(row: Entity, *, subject: str) -> str:
    """Return sentences about what hangs on the row, each after a space; empty if nothing does."""
    parts = []
    if isinstance(row, Task):
        if row.recurrence:
            parts.append(f"It recurred {row.recurrence}, so all its occurrences are gone.")
        subtasks = TASK.get_rows().visible_to(subject).filter(parent_task=row.pk).order_by("title", "pk")
        titles = list(subtasks.values_list("title", flat=True)[: MAX_COUNTED + 1])
        parts += _describe(titles, ("subtask stays", "subtasks stay"), "without a parent:")
    links, has_more = linked_rows.list_linked_summaries(row.pk, subject=subject, limit=MAX_COUNTED)
    names = [str(link[ENTITY_TYPE_BY_NAME[link["kind"]].label]) for link in links]
    parts += _describe([*names, *([""] if has_more else [])], ("link is", "links are"), "gone, with")
    return "".join(f" {part}" for part in parts)


def describe_contents(project: Project) -> str:
    """Return a sentence about the rows in a project that is deleted, after a space; empty if there are none."""
    kinds = [kind for kind in (*ENTITY_TYPE_BY_NAME.values(), EVENT) if kind is not PROJECT]
    counts = [(kind.get_rows().alive().filter(project=project).count(), kind) for kind in kinds]
    named = [f"{count} {kind.name if count == 1 else kind.plural}" for count, kind in counts if count]
    return f" With it go {', '.join(named)}." if named else ""


def _describe(names: Sequence[str], nouns: tuple[str, str], what: str) -> list[str]:
    """Return the sentence about some rows, of which it names the first, if there are any."""
    if not names:
        return []
    count = f"More than {MAX_COUNTED}" if len(names) > MAX_COUNTED else str(len(names))
    shown = ", ".join(map(quote_name, names[:MAX_NAMED]))
    return [f"{count} {nouns[len(names) > 1]} {what} {shown}{', …' if len(names) > MAX_NAMED else ''}."]
