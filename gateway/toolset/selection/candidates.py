"""The candidate pool: the ops of the user's context, narrowed by category."""

import re
from enum import StrEnum

from gateway.access.request_context import UserContext
from gateway.toolset import shown_ops
from gateway.toolset.shown_tools import ToolsetRequest
from registry.catalog.model import Catalog, CatalogOp

CREATE_PROJECT = "onto.project.create"
CREATE_CONTEXT = "project_create"

# Entities that a user can look at, and the words by which messages name them.
ENTITY_WORDS = {
    "project": "projects? projekte?n? projets?",
    "task": "tasks? todos? to-dos? chores? tickets? aufgaben? tâches?",
    "document": "documents? docs? notes? pages? minutes dokumente?n? notizen?",
    "goal": "goals? objectives? ziele?n? objectifs?",
    "plan": "plans? phases? pläne?n?",
    "milestone": "milestones? meilensteine?n? jalons?",
    "risk": "risks? risiken? risiko risques?",
    "requirement": "requirements? anforderung(?:en)?",
    "event": "events? meetings? appointments? calls? termine?n? réunions?",
}
_PATTERNS = {
    entity: re.compile(rf"\b(?:{'|'.join(words.split())})\b", re.IGNORECASE) for entity, words in ENTITY_WORDS.items()
}


def list_candidates(catalog: Catalog, request: ToolsetRequest) -> list[CatalogOp]:
    """Return the ops of the request's context that the caller may run, without those of entities out of focus.

    A user who looks at one row of a kind keeps lists, gets, the tools of projects and those of that kind, unless the
    message names another kind.
    """
    view = catalog.view_for(request.visibility)
    ops = [op for op in shown_ops.list_context_ops(catalog, request.context.type) if op.op in view.ops]
    focus = get_focus(request.context)
    named_entities = find_named_entities(request.message)
    if focus not in ENTITY_WORDS or named_entities - {focus}:
        return ops
    return [op for op in ops if _is_in_focus(op, focus)]


def get_focus(context: UserContext) -> str:
    """Return the kind of the row that the user looks at; empty if they look at none."""
    return context.entity_type or ("task" if context.type == "task" else "")


def find_named_entities(message: str) -> set[str]:
    """Return the kinds of entities that a message names."""
    return {entity for entity, pattern in _PATTERNS.items() if pattern.search(message)}


def _is_in_focus(op: CatalogOp, focus: str) -> bool:
    if op.entity in ("", focus, "project") or op.action in ("list", "get"):
        return True
    # Calendars, links and history are about rows of every kind.
    return op.entity not in ENTITY_WORDS or op.entity == "event"


class ToolCategory(StrEnum):
    """What a tool is for."""

    ONTOLOGY_READ = "ontology_read"
    ONTOLOGY_WRITE = "ontology_write"
    CALENDAR = "calendar"
    WEB = "web"
    PRODUCT_HELP = "product_help"
    UTILITY = "utility"


# Groups whose ops are of one category. Ops elsewhere are of the ontology if they are about an entity.
_CATEGORY_BY_GROUP = {
    "cal": ToolCategory.CALENDAR,
    "util.web": ToolCategory.WEB,
    "util.buildos": ToolCategory.PRODUCT_HELP,
    "util": ToolCategory.UTILITY,
    "x": ToolCategory.UTILITY,
}

ONLY_WHEN_ASKED = frozenset((ToolCategory.WEB, ToolCategory.PRODUCT_HELP))


def get_category(op: CatalogOp) -> ToolCategory:
    """Return the category of an op."""
    path = op.op
    while path := path.rpartition(".")[0]:
        if path in _CATEGORY_BY_GROUP:
            return _CATEGORY_BY_GROUP[path]
    return ToolCategory.ONTOLOGY_WRITE if op.is_write else ToolCategory.ONTOLOGY_READ
