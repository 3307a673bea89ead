"""All workspace handlers by tool name. A handler exists only if it is in this table."""

from functools import partial

from workspace.contract import Handler
from workspace.handlers import (
    agendas,
    calendars,
    document_places,
    document_sections,
    document_tree,
    documents,
    edges,
    events,
    everything,
    fields,
    graph,
    links,
    moves,
    profiles,
    projects,
    reads,
    schedules,
    slots,
    task_documents,
    tasks,
    writes,
)
from workspace.kinds import KINDS, TASK, Kind
from workspace.services import task_events


def _shared(kind: Kind) -> dict[str, Handler]:
    """Return the handlers that every kind has: list, search, get, create, update, delete."""
    return {
        f"list_onto_{kind.plural}": Handler(partial(reads.list_rows, kind=kind)),
        f"search_onto_{kind.plural}": Handler(partial(reads.search_rows, kind=kind)),
        f"get_onto_{kind.name}_details": Handler(partial(reads.get_row, kind=kind)),
        f"create_onto_{kind.name}": Handler(partial(writes.create_row, kind=kind)),
        f"update_onto_{kind.name}": Handler(partial(writes.update_row, kind=kind)),
        f"delete_onto_{kind.name}": Handler(partial(writes.delete_row, kind=kind)),
    }


HANDLERS: dict[str, Handler] = {
    **{tool_name: handler for kind in KINDS.values() for tool_name, handler in _shared(kind).items()},
    "get_onto_project_details": Handler(projects.get),
    "create_onto_project": Handler(projects.create),
    "delete_onto_project": Handler(projects.delete),
    "get_onto_task_details": Handler(tasks.get),
    "create_onto_task": Handler(partial(writes.create_row, kind=TASK, check=tasks.problems, then=task_events.add)),
    "update_onto_task": Handler(partial(writes.update_row, kind=TASK, check=tasks.problems, then=task_events.follow)),
    "move_onto_task": Handler(moves.move),
    "create_onto_document": Handler(documents.create),
    "update_onto_document": Handler(documents.update),
    "delete_onto_document": Handler(documents.delete),
    "get_document_tree": Handler(document_tree.get),
    "get_document_path": Handler(document_tree.path),
    "move_document_in_tree": Handler(document_places.move),
    "get_document_outline": Handler(document_sections.outline),
    "read_document_section": Handler(document_sections.section),
    "list_task_documents": Handler(task_documents.list_documents),
    "create_task_document": Handler(task_documents.create_or_attach),
    "link_onto_entities": Handler(edges.link),
    "unlink_onto_edge": Handler(edges.unlink),
    "get_entity_relationships": Handler(links.relationships),
    "get_linked_entities": Handler(links.linked),
    "get_onto_project_graph": Handler(graph.get),
    "reorganize_onto_project_graph": Handler(graph.reorganize),
    "search_ontology": Handler(everything.find),
    "get_field_info": Handler(fields.info),
    "find_available_slots": Handler(slots.find),
    "schedule_task": Handler(schedules.schedule),
    "get_user_profile": Handler(profiles.get),
    "list_calendar_events": Handler(agendas.list_events),
    "get_calendar_event_details": Handler(events.get),
    "create_calendar_event": Handler(events.create),
    "update_calendar_event": Handler(events.update),
    "delete_calendar_event": Handler(events.delete),
    "get_project_calendar": Handler(calendars.get),
    "set_project_calendar": Handler(calendars.set),
}
