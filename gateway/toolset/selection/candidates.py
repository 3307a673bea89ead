"""The candidate pool: the ops of the user's context, narrowed by category."""

import re
from dataclasses import dataclass
from enum import StrEnum

from core.text.english import ASKS_PRODUCT, ASKS_WEB, EVERYDAY_NOUNS
from gateway.access.request_context import UserContext
from gateway.toolset import shown_ops
from gateway.toolset.shown_tools import ToolsetRequest
from registry.catalog.model import Catalog, CatalogOp
from registry.search import tokenizer

CREATE_PROJECT = "onto.project.create"
CREATE_CONTEXT = "project_create"
_WORD = re.compile(r"\w+")
_WEB_ADDRESS = re.compile(r"https?://|www\.", re.IGNORECASE)
MAX_NAME_WORDS = 3  # in a message, of the name of a kind of row


def list_candidates(catalog: Catalog, request: ToolsetRequest) -> list[CatalogOp]:
    """Return the ops of the request's context that the caller may run, without those of entities out of focus.

    A user who looks at one row of a kind keeps lists, gets, the tools of projects and those of that kind, unless the
    conversation names another kind.
    """
    view = catalog.view_for(request.visibility)
    ops = [op for op in shown_ops.list_context_ops(catalog, request.context.type) if op.op in view.ops]
    focus = get_focus(request.context)
    kinds = _get_entity_index(catalog).kinds
    if focus not in kinds or find_named_entities(request.message, catalog) - {focus}:
        return ops
    # Calendars, links and history are about rows of every kind.
    others = kinds - {focus, "project", "event"}
    return [op for op in ops if op.entity not in others or op.action in ("list", "get")]


def get_focus(context: UserContext) -> str:
    """Return the kind of the row that the user looks at; empty if they look at none."""
    return context.entity_type or ("task" if context.type == "task" else "")


def find_named_entities(message: str, catalog: Catalog) -> set[str]:
    """Return the kinds of rows that a message names, in words of the catalog. "to do" and "To-dos" are to_do, too.

    An everyday noun names its kind only if the catalog itself calls it so.
    """
    index = _get_entity_index(catalog)
    words = tokenizer.split_words(message)
    names = ("".join(words[at : at + length]) for length in range(1, MAX_NAME_WORDS + 1) for at in range(len(words)))
    return {entity for name in names for entity in index.entities_by_name.get(name, ())}


@dataclass(frozen=True)
class _EntityIndex:
    """The kinds of rows that a user can look at: with words, and an op that lists them."""

    kinds: frozenset[str]
    entities_by_name: dict[str, set[str]]  # by word, in the singular and the plural, without what separates its parts


def _get_entity_index(catalog: Catalog) -> _EntityIndex:
    return catalog.get_or_derive(_EntityIndex, lambda: _build_entity_index(catalog))


def _build_entity_index(catalog: Catalog) -> _EntityIndex:
    vocabulary = catalog.vocabulary
    listed = {op.entity for op in catalog.ops.values() if op.action == "list" and op.entity}
    entities_by_name: dict[str, set[str]] = {}
    for entity in listed:
        for word in (entity, *(each for each in vocabulary.get_entity_words(entity) if each not in EVERYDAY_NOUNS)):
            name = "".join(tokenizer.split_words(word))
            for spelling in (name, f"{name}s"):
                entities_by_name.setdefault(spelling, set()).add(entity)
    return _EntityIndex(frozenset(listed & vocabulary.words_by_entity.keys()), entities_by_name)


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

# What a user calls the product: the last part of the groups with help about it.
PRODUCT_NAMES = frozenset(
    group.rpartition(".")[2] for group, category in _CATEGORY_BY_GROUP.items() if category == ToolCategory.PRODUCT_HELP
)
ONLY_WHEN_ASKED = frozenset((ToolCategory.WEB, ToolCategory.PRODUCT_HELP))


def get_category(op: CatalogOp) -> ToolCategory:
    """Return the category of an op."""
    path = op.op
    while path := path.rpartition(".")[0]:
        if path in _CATEGORY_BY_GROUP:
            return _CATEGORY_BY_GROUP[path]
    return ToolCategory.ONTOLOGY_WRITE if op.is_write else ToolCategory.ONTOLOGY_READ


def asks_for_web(message: str) -> bool:
    """Whether a message may ask for something outside the workspace."""
    return bool(_WEB_ADDRESS.search(message) or ASKS_WEB.search(message))


def asks_for_product(message: str) -> bool:
    """Whether a message may ask what the product is or can do, or names it."""
    return ASKS_PRODUCT.search(message) is not None or not PRODUCT_NAMES.isdisjoint(_WORD.findall(message.lower()))
