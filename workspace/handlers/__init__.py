"""The handlers of the workspace, by tool name. This table is all there is: nothing registers itself."""

from functools import partial

from workspace.contract import Handler
from workspace.handlers import documents, everything, fields, projects, reads, writes
from workspace.kinds import DOCUMENT, PROJECT, TASK

HANDLERS: dict[str, Handler] = {
    "list_onto_projects": Handler(partial(reads.list_rows, kind=PROJECT)),
    "search_onto_projects": Handler(partial(reads.search_rows, kind=PROJECT)),
    "get_onto_project_details": Handler(partial(reads.get_row, kind=PROJECT)),
    "create_onto_project": Handler(projects.create),
    "update_onto_project": Handler(partial(writes.update_row, kind=PROJECT)),
    "list_onto_tasks": Handler(partial(reads.list_rows, kind=TASK)),
    "search_onto_tasks": Handler(partial(reads.search_rows, kind=TASK)),
    "get_onto_task_details": Handler(partial(reads.get_row, kind=TASK)),
    "create_onto_task": Handler(partial(writes.create_row, kind=TASK)),
    "update_onto_task": Handler(partial(writes.update_row, kind=TASK)),
    "delete_onto_task": Handler(partial(writes.delete_row, kind=TASK)),
    "list_onto_documents": Handler(partial(reads.list_rows, kind=DOCUMENT)),
    "search_onto_documents": Handler(partial(reads.search_rows, kind=DOCUMENT)),
    "get_onto_document_details": Handler(partial(reads.get_row, kind=DOCUMENT)),
    "create_onto_document": Handler(documents.create),
    "update_onto_document": Handler(documents.update),
    "delete_onto_document": Handler(partial(writes.delete_row, kind=DOCUMENT)),
    "search_ontology": Handler(everything.find),
    "get_field_info": Handler(fields.info),
}
