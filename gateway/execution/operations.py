"""What a call is about: `meta.operation`, from which a chat shows that an operation started, succeeded or failed."""

from dataclasses import replace
from typing import Any

from gateway.arguments import row_ids
from gateway.contracts.validation import get_subschema
from gateway.executors import in_process
from gateway.executors.base import UpstreamCall, UpstreamResponse
from gateway.recording import call_events
from registry import result_row
from registry.catalog.model import CatalogOp

MAX_NAME_LENGTH = 300  # characters of a name that only the args contain
# Chats tell by these that nothing was changed. Names of services say less: run may be a read or a write.
READ_ACTIONS = frozenset(
    {"list", "get", "search", "find", "read", "help", "run", "visit", "describe", "count", "history"}
)
READ, EXECUTE = "read", "execute"  # the action of a service's op whose own does not fit its kind


def add_row(work: UpstreamCall, response: UpstreamResponse) -> UpstreamResponse:
    """Return the answer of a service with the id and the name of its row, before parts of it are left out."""
    id, name = result_row.read_row(response.result, work.op.result_row, _find_entity(work.op, work.args))
    return replace(response, entity_id=id or None, entity_name=name or None) if id or name else response


def describe_outcome(op: CatalogOp, args: dict[str, Any], outcome: UpstreamResponse) -> dict[str, str]:
    """Return the entity and action of a call that succeeded and, if it is about one row, the row's id and name."""
    entity = outcome.entity or _find_entity(op, args)
    name = outcome.entity_name or (_find_name(op, args) if op.is_of_service else "")
    return _build_operation(entity, outcome.action or _choose_action(op), _find_id(op, args, outcome.entity_id), name)


def describe_attempt(
    op: CatalogOp, args: dict[str, Any], *, subject: str, may_look_up: bool, are_valid: bool
) -> dict[str, str]:
    """Return the same for a failed call, from its args.

    The name is that of the row if it can be looked up and the subject sees it, else the one in the args. Invalid args
    give none: the answer must not repeat a value, which may be a secret in the wrong place.
    """
    entity, id = _find_entity(op, args), _find_id(op, args, None)
    lookups = in_process.find_lookups(op.connection)
    title = None
    if id and lookups and may_look_up:
        with row_ids.limit_lookup():
            title = lookups.find_title(entity, id, subject)
    return _build_operation(entity, _choose_action(op), id, title or (_find_name(op, args) if are_valid else ""))


def _build_operation(entity: str, action: str, id: str, name: str) -> dict[str, str]:
    operation = {"entity": entity, "action": action, "entity_id": id, "entity_name": name}
    return {member: value for member, value in operation.items() if value} if entity else {}


def _find_entity(op: CatalogOp, args: dict[str, Any]) -> str:
    """Return the entity of an op, or the kind that an argument names, such as entity_kind of onto.entity.links.get."""
    name = f"{op.entity}_kind"
    kind = args.get(name)
    is_kind = name in op.arguments and kind in get_subschema(op.schema, [name]).get("enum", ())
    if is_kind:
        return str(kind)
    return op.entity or (op.op.split(".")[-2] if op.is_of_service else "")


def _choose_action(op: CatalogOp) -> str:
    """Return the action of an op. That of a service's op says whether it writes, whatever its name sounds like."""
    if not op.is_of_service or (op.action and (op.action in READ_ACTIONS) is not op.is_write):
        return op.action
    return EXECUTE if op.is_write else READ


def _find_id(op: CatalogOp, args: dict[str, Any], upstream_id: str | None) -> str:
    """Return the id of the row, from the upstream, else from the args. Services have ids of any form."""
    if not op.is_of_service:
        return call_events.resolve_entity_id(op, args, upstream_id)
    return upstream_id or result_row.read_row(args, {}, _find_entity(op, args))[0]


def _find_name(op: CatalogOp, args: dict[str, Any]) -> str:
    """Return the name of the row in the args: task_title or, for a row to create, its own title or name."""
    names = [f"{op.entity}_title", f"{op.entity}_name"]
    if op.action == "create" or (op.is_of_service and op.is_write):
        row = args.get(op.entity)
        args = {**(row if isinstance(row, dict) else {}), **args}
        names += ["title", "name"]
    found = (args[name] for name in names if isinstance(args.get(name), str))
    return next(found, "")[:MAX_NAME_LENGTH]
