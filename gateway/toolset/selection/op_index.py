"""The ops of a catalog by what a selection asks about them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gateway.toolset.selection import finders
from gateway.toolset.selection.candidates import ToolCategory, get_category
from registry.catalog.model import Catalog
from registry.help.typed_tools import TypedTools
from registry.search import intent, tokenizer

MAX_FOUND = 60  # ops of a search that count


@dataclass(frozen=True, slots=True)
class OpTraits:
    """What a selection asks about an op."""

    category: ToolCategory
    action: str  # create, read, update or delete
    path_parts: frozenset[str]
    needs_id: bool
    tokens: int


class SelectionIndex:
    """The ops of a catalog by what a selection asks about them."""

    def __init__(self, catalog: Catalog) -> None:
        tools = TypedTools.of(catalog)
        self.traits: dict[str, OpTraits] = {}
        self.own_entities: set[str] = set()
        self.services: dict[str, set[str]] = {}  # the stems of the names of each connection
        self.writes: set[tuple[str, str, str]] = set()  # connection, entity and action
        self._own: set[str] = set()
        self._by_entity: dict[str, set[str]] = defaultdict(set)
        self._by_service: dict[str, set[str]] = defaultdict(set)
        listed = {op.entity for op in catalog.ops.values() if op.action == "list"}
        for path, op in catalog.ops.items():
            action, needs_id = intent.detect_op_action(op), bool(finders.list_needed_entities(op))
            parts = frozenset(path.split("."))
            self.traits[path] = OpTraits(get_category(op), action, parts, needs_id, tools[path].tokens)
            if op.is_write:
                self.writes.add((op.connection, op.entity, action))
            if op.is_of_service:
                self.services.setdefault(op.connection, set()).update(
                    tokenizer.stem(word)
                    for word in (op.group, op.connection, op.entity)
                    if word and word not in listed  # rows that a tool lists are found by their own name
                )
                self._by_service[op.connection].add(path)
                self._by_entity[op.entity].add(path)
            else:
                self._own.add(path)
                self.own_entities |= {op.entity} - {""}

    def narrow(
        self, found: Mapping[str, float], entities: Iterable[str], services: Iterable[str], recent: Iterable[str]
    ) -> set[str]:
        """Return the ops worth a score: our own, those of named services and kinds of rows, and the best found."""
        paths = self._own.union(recent, *(self._by_service[each] for each in services))
        paths = paths.union(*(self._by_entity[each] for each in entities if each in self._by_entity))
        return paths.union(sorted(found, key=lambda path: -found[path])[:MAX_FOUND])
