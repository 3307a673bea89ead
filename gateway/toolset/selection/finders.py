"""What an op needs first: the ops that find the ids that it takes."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from registry.catalog.model import Catalog, CatalogOp
from registry.jsonschema.dialect import Schema
from registry.search import intent

MAX_DEPTH = 4  # of arguments in lists and objects
SEARCH = "search"
FINDING_ACTIONS = ("list", SEARCH)
_DEFINITIONS = "#/$defs/"
_ID_ENDINGS = ("_ids", "_id")


@dataclass(frozen=True)
class _Finders:
    """The active ops that find rows: of one entity (a list, or else a search), and of all entities of a group."""

    by_entity: Mapping[tuple[str, str], CatalogOp]  # by service and entity
    by_group: Mapping[tuple[str, str], CatalogOp]  # by service and group


def list_finders(op: CatalogOp, catalog: Catalog, *, known: Collection[str] = ()) -> list[CatalogOp]:
    """Return the ops that find the ids without which an op cannot run. `known` are entities whose ids are known.

    One search of a whole group is enough for its entities. Some ops without required ids get the ops for their optional
    ones: those of a service, because a list of orders is often wanted for one customer, and those that change rows,
    which may take one id or another.
    """
    index = catalog.get_or_derive(_Finders, lambda: _build_finders(catalog))
    entities = list_needed_entities(op)
    if not entities and (op.is_of_service or (op.is_write and op.action != intent.CREATE)):
        entities = list(dict.fromkeys(_iterate_entities(op.schema, op.schema, only_required=False)))
    found: dict[str, CatalogOp] = {}
    for entity in entities:
        if entity in known:
            continue
        own = index.by_entity.get((_get_service(op), entity))
        finder = index.by_group.get((_get_service(op), (own or op).group), own)
        if finder is not None and finder.op != op.op:
            found[finder.op] = finder
    return list(found.values())


def list_needed_entities(op: CatalogOp) -> list[str]:
    """Return the entities of the ids without which an op cannot run."""
    return list(dict.fromkeys(_iterate_entities(op.schema, op.schema, only_required=True)))


def _build_finders(catalog: Catalog) -> _Finders:
    ops = sorted((op for op in catalog.ops.values() if op.is_active), key=lambda op: op.op)
    by_entity: dict[tuple[str, str], CatalogOp] = {}
    by_group: dict[tuple[str, str], CatalogOp] = {}
    for action in FINDING_ACTIONS:
        for op in ops:
            if op.action == action and op.entity:
                by_entity.setdefault((_get_service(op), op.entity), op)
            elif op.action == action == SEARCH:
                by_group.setdefault((_get_service(op), op.group), op)
    return _Finders(by_entity, by_group)


def _get_service(op: CatalogOp) -> str:
    """Return the service that an op is of; empty for our own ops, which share their rows."""
    return op.connection if op.is_of_service else ""


def _iterate_entities(schema: Any, root: Schema, *, only_required: bool, depth: int = 0) -> Iterator[str]:
    """Yield the entities of the ids in a schema: task for task_id, product for lines[].product_id."""
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return
    if isinstance(reference := schema.get("$ref"), str) and reference.startswith(_DEFINITIONS):
        schema = root.get("$defs", {}).get(reference.removeprefix(_DEFINITIONS), {})
    properties, required = schema.get("properties"), schema.get("required", ())
    for name, value in properties.items() if isinstance(properties, Mapping) else ():
        if only_required and name not in required:
            continue
        ending = next((each for each in _ID_ENDINGS if name.endswith(each)), "")
        if ending:
            yield name.removesuffix(ending)
        else:
            yield from _iterate_entities(value, root, only_required=only_required, depth=depth + 1)
    yield from _iterate_entities(schema.get("items"), root, only_required=only_required, depth=depth + 1)
