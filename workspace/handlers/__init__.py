"""All workspace handlers by tool name. A handler exists only if it is in this table."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from core.handler_contract import OpHandler, OpRequest
from workspace.entity_types import ENTITY_TYPE_BY_NAME, TASK, EntityType
from workspace.handlers.calendar import events, list_events, schedules, slots
from workspace.handlers.documents import document_sections, document_tree, documents, task_documents
from workspace.handlers.generic import fields, generic_reads, generic_writes, search_all
from workspace.handlers.graph import edges, graph
from workspace.handlers.history import undo
from workspace.handlers.projects import projects
from workspace.handlers.tasks import shift_tasks, tasks
from workspace.services.calendar import task_events
from workspace.services.documents import merging
from workspace.services.undo.recording import record_write


def _get_merge(kind: EntityType) -> Callable[[OpRequest], Any] | None:
    """Return the step that has a model merge texts of an update, None for a kind without update strategies."""
    return partial(merging.prepare_merge, kind=kind) if kind.update_strategies else None


def _build_generic_handlers(kind: EntityType) -> dict[str, OpHandler[OpRequest]]:
    """Return the handlers that every kind has: list, search, get, create, update, delete."""
    return {
        f"list_onto_{kind.plural}": OpHandler(partial(generic_reads.list_rows, kind=kind)),
        f"search_onto_{kind.plural}": OpHandler(partial(generic_reads.search_rows, kind=kind)),
        f"get_onto_{kind.name}_details": OpHandler(partial(generic_reads.get_row, kind=kind)),
        f"create_onto_{kind.name}": OpHandler(partial(generic_writes.create_row, kind=kind)),
        f"update_onto_{kind.name}": OpHandler(partial(generic_writes.update_row, kind=kind), _get_merge(kind)),
        f"delete_onto_{kind.name}": OpHandler(partial(generic_writes.delete_row, kind=kind)),
    }


# Tools that read more or less of their rows for the `fields` that a caller chooses. A get has all of them anyway.
_TOOLS_WITH_FIELDS = frozenset(
    tool_name
    for kind in ENTITY_TYPE_BY_NAME.values()
    for tool_name in _build_generic_handlers(kind)
    if not tool_name.startswith(("get_", "delete_"))
) | frozenset(
    """
    move_onto_task schedule_task list_calendar_events create_calendar_event update_calendar_event
""".split()
)

_HANDLERS: dict[str, OpHandler[OpRequest]] = {
    **{
        tool_name: handler
        for kind in ENTITY_TYPE_BY_NAME.values()
        for tool_name, handler in _build_generic_handlers(kind).items()
    },
    "list_onto_projects": OpHandler(projects.list_projects),
    "search_onto_projects": OpHandler(projects.search_projects),
    "get_onto_project_details": OpHandler(projects.get_project),
    "create_onto_project": OpHandler(projects.create_project),
    "delete_onto_project": OpHandler(projects.delete_project),
    "get_onto_task_details": OpHandler(tasks.get_task),
    "create_onto_task": OpHandler(
        partial(generic_writes.create_row, kind=TASK, check=tasks.check_task, then=task_events.create_events)
    ),
    "update_onto_task": OpHandler(tasks.update_task, _get_merge(TASK)),
    "delete_onto_task": OpHandler(tasks.delete_task),
    "move_onto_task": OpHandler(tasks.move_task),
    "shift_onto_tasks": OpHandler(shift_tasks.shift_tasks),
    "create_onto_document": OpHandler(documents.create_document),
    "update_onto_document": OpHandler(documents.update_document, documents.prepare_update),
    "delete_onto_document": OpHandler(documents.delete_document),
    "get_document_tree": OpHandler(document_tree.get_tree),
    "get_document_path": OpHandler(document_tree.get_path),
    "move_document_in_tree": OpHandler(document_tree.move_document),
    "get_document_outline": OpHandler(document_sections.get_outline),
    "read_document_section": OpHandler(document_sections.get_section),
    "list_task_documents": OpHandler(task_documents.list_documents),
    "create_task_document": OpHandler(task_documents.create_or_attach_document),
    "link_onto_entities": OpHandler(edges.link_rows),
    "unlink_onto_edge": OpHandler(edges.unlink_edge),
    "get_entity_relationships": OpHandler(graph.get_relationships),
    "get_linked_entities": OpHandler(graph.get_linked_rows),
    "get_onto_project_graph": OpHandler(graph.get_graph),
    "reorganize_onto_project_graph": OpHandler(graph.reorganize_graph),
    "search_ontology": OpHandler(search_all.search_all_kinds),
    "get_field_info": OpHandler(fields.get_field_info),
    "find_available_slots": OpHandler(slots.find_slots),
    "schedule_task": OpHandler(schedules.schedule_task),
    "get_user_profile": OpHandler(projects.get_profile),
    "list_calendar_events": OpHandler(list_events.list_events),
    "get_calendar_event_details": OpHandler(events.get_event),
    "create_calendar_event": OpHandler(events.create_event),
    "update_calendar_event": OpHandler(events.update_event),
    "delete_calendar_event": OpHandler(events.delete_event),
    "get_project_calendar": OpHandler(slots.get_calendar),
    "set_project_calendar": OpHandler(slots.set_calendar),
}

_READS = ("list_", "search_", "get_", "read_", "find_")  # how the names of tools that change nothing begin


def _complete(tool_name: str, handler: OpHandler[OpRequest]) -> OpHandler[OpRequest]:
    """Return a handler that, if it writes, stores what it changed, so that the caller can undo it."""
    apply = handler.apply if tool_name.startswith(_READS) else record_write(handler.apply, tool_name=tool_name)
    return replace(handler, apply=apply, takes_fields=tool_name in _TOOLS_WITH_FIELDS)


HANDLERS = {tool_name: _complete(tool_name, handler) for tool_name, handler in _HANDLERS.items()} | {
    "undo_onto_writes": OpHandler(undo.undo_writes)
}
