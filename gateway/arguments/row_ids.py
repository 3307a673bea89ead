"""Find the id that a call means by a title, for the corrected call of an error."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import UTC, date, tzinfo
from typing import Any

from core.database.deadlines import Deadline
from gateway.access.request_context import Caller, is_uuid
from gateway.contracts.errors import FieldError
from gateway.executors import in_process
from gateway.executors.in_process import find_lookups, find_row_connection
from registry.catalog.model import Catalog, CatalogOp

TITLE, SIMILAR_TITLE = "title", "similar_title"  # codes: a title was sent for an id, or a part of one
ANY_ID = "entity_id"  # the id of a row of any kind
LABELS = ("title", "name")  # under which the title of a row is sent
MAX_TITLE_LENGTH = 300  # characters
MAX_LOOKUP_MS = 2_000
_PARENT_NAMES = ("parent", "new_parent")


class ListOps(dict[tuple[str, str], str]):
    """Maps (connection, entity) to the op that lists the entity. Ids of one upstream mean nothing to another."""


def get_list_ops(catalog: Catalog) -> ListOps:
    """Return the ops of a catalog that list rows."""
    return catalog.get_or_derive(ListOps, lambda: _index_list_ops(catalog))


def find_entity(name: str, op: CatalogOp, args: Mapping[str, Any], list_ops: ListOps) -> str | None:
    """Return the entity whose rows an id argument names, such as task for parent_task_id. None if nothing shows it."""
    stem = name.removesuffix("_id")
    if stem == name:
        return None
    words = stem.split("_")
    candidates = ["_".join(words[start:]) for start in range(len(words))]
    if stem in _PARENT_NAMES:
        candidates.append(op.entity)
    candidates += [str(args[kind]) for kind in (f"{stem}_kind", f"{stem}_type", "kind") if kind in args]
    return next((each for each in candidates if (_get_connection(op), each) in list_ops), None)


def find_id(
    name: str, text: str, args: Mapping[str, Any], *, op: CatalogOp, catalog: Catalog, caller: Caller
) -> tuple[str | None, FieldError] | None:
    """Return the id of the one row with this title, and the error that says so, or that lists the candidates.

    Some words of the title are enough if only one row has them; its title is in the error, so that the caller sees it.
    None if the upstream looks up no rows, or the argument names none. Only rows that the subject can see are found.
    """
    connection = _get_connection(op)
    lookups = find_lookups(connection)
    list_ops = get_list_ops(catalog)
    entity = find_entity(name, op, args, list_ops)
    if lookups is None or not text.strip() or len(text) > MAX_TITLE_LENGTH:
        return None
    if entity is None and name.endswith("_id"):  # of a row of any kind, such as src_id
        entity = _find_only_kind(text, op=op, list_ops=list_ops, caller=caller)
    if entity is None:
        return None
    project_id = args.get("project_id")
    preferred_project = project_id if isinstance(project_id, str) else caller.context.project_id
    with limit_lookup():
        rows, is_exact = lookups.find_rows(entity, text, caller.subject, preferred_project)
    path = f"/{name}"
    if is_exact and len(rows) == 1:
        message = f"{name} is a title; send the id of its {entity}."
        return rows[0].id, FieldError(path, TITLE, message, expected=rows[0].id)
    if not rows:
        source = list_ops[connection, entity]
        search = f"{source.rpartition('.')[0]}.search"
        message = f"No {entity} has this title. Take the id from {search if search in catalog.ops else source}."
        return None, FieldError(path, "no_such_title", message)
    choices = [{"id": row.id, "title": row.title, **({"project": row.place} if row.place else {})} for row in rows]
    if len(rows) == 1 and rows[0].has_words:
        message = f"No {entity} has this title; send the id of the only one with these words."
        return rows[0].id, FieldError(path, SIMILAR_TITLE, message, expected=choices)
    problem = f"{len(rows)} rows have this title" if is_exact else f"No {entity} has this title, but these are similar"
    return None, FieldError(path, "ambiguous_title", f"{problem}. Send the id of the right one.", expected=choices)


def _find_only_kind(text: str, *, op: CatalogOp, list_ops: ListOps, caller: Caller) -> str | None:
    """Return the one entity that has a row with exactly this title."""
    own_connection = _get_connection(op)
    lookups = find_lookups(own_connection)
    if lookups is None:
        return None
    with limit_lookup():
        kinds = [
            entity
            for connection, entity in list_ops
            if connection == own_connection and lookups.find_rows(entity, text, caller.subject, "")[1]
        ]
    return kinds[0] if len(kinds) == 1 else None


def _get_connection(op: CatalogOp) -> str:
    """Return the connection whose rows the ids of an op name: for an op of the gateway about any row, another one."""
    return find_row_connection(op.connection) if ANY_ID in op.arguments else op.connection


def find_project(op: CatalogOp, args: Mapping[str, Any], caller: Caller) -> str | None:
    """Return the id of the project that the row of a call is in, None if the upstream cannot tell."""
    id, lookups = args.get(f"{op.entity}_id"), find_lookups(op.connection)
    if lookups is None or not isinstance(id, str) or not is_uuid(id):
        return None
    with limit_lookup():
        return lookups.find_project(op.entity, id, caller.subject)


def find_kind(id: Any, caller: Caller) -> str | None:
    """Return the kind of the row with an id, None if no upstream can tell."""
    if not isinstance(id, str) or not is_uuid(id):
        return None
    with limit_lookup():
        return in_process.find_kind(id, caller.subject)


def find_date(name: str, args: Mapping[str, Any], *, op: CatalogOp, caller: Caller) -> date | None:
    """Return the date or date-time that the row of a call has, None if the upstream cannot tell."""
    id, lookups = args.get(f"{op.entity}_id"), find_lookups(op.connection)
    if lookups is None or not isinstance(id, str) or not is_uuid(id):
        return None
    with limit_lookup():
        return lookups.find_date(op.entity, id, name, caller.subject)


def get_time_zone(op: CatalogOp, caller: Caller) -> tzinfo:
    """Return the time zone in which the op's upstream reads the subject's local times; UTC if it has none."""
    lookups = find_lookups(op.connection)
    if lookups is None:
        return UTC
    with limit_lookup():
        return lookups.get_time_zone(caller.subject)


def limit_lookup() -> AbstractContextManager[None]:
    """Bound the time that the lookups for an error take."""
    return Deadline.after(milliseconds=MAX_LOOKUP_MS).limit_waits()


def _index_list_ops(catalog: Catalog) -> ListOps:
    lists = (op for op in catalog.ops.values() if op.action == "list" and op.is_active and op.entity)
    # Of several lists, the shortest path is that of the rows themselves: task.list, not task.docs.list.
    by_length = sorted(lists, key=lambda op: -op.op.count("."))
    return ListOps({(op.connection, op.entity): op.op for op in by_length})
