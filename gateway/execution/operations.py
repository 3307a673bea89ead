"""What a call is about: `meta.operation`, from which a chat shows that an operation started, succeeded or failed."""

from typing import Any

from gateway.arguments import row_ids
from gateway.contracts.validation import get_subschema
from gateway.executors import in_process
from gateway.executors.base import UpstreamResponse
from gateway.recording import call_events
from registry.catalog.model import CatalogOp

MAX_NAME_LENGTH = 300  # characters of a name that only the args contain


def describe_outcome(op: CatalogOp, args: dict[str, Any], outcome: UpstreamResponse) -> dict[str, str]:
    """Return the entity and action of a call that succeeded and, if it is about one row, the row's id and name."""
    entity = outcome.entity or _find_entity(op, args)
    id = call_events.resolve_entity_id(op, args, outcome.entity_id)
    return _build_operation(entity, outcome.action or op.action, id, outcome.entity_name or "")


def describe_attempt(
    op: CatalogOp, args: dict[str, Any], *, subject: str, may_look_up: bool, are_valid: bool
) -> dict[str, str]:
    """Return the same for a failed call, from its args.

    The name is that of the row if it can be looked up and the subject sees it, else the one in the args. Invalid args
    give none: the answer must not repeat a value, which may be a secret in the wrong place.
    """
    entity, id = _find_entity(op, args), call_events.resolve_entity_id(op, args)
    lookups = in_process.find_lookups(op.connection)
    title = None
    if id and lookups and may_look_up:
        with row_ids.limit_lookup():
            title = lookups.find_title(entity, id, subject)
    return _build_operation(entity, op.action, id, title or (_find_name(op, args) if are_valid else ""))


def _build_operation(entity: str, action: str, id: str, name: str) -> dict[str, str]:
    operation = {"entity": entity, "action": action, "entity_id": id, "entity_name": name}
    return {member: value for member, value in operation.items() if value} if entity else {}


def _find_entity(op: CatalogOp, args: dict[str, Any]) -> str:
    """Return the entity of an op, or the kind that an argument names, such as entity_kind of onto.entity.links.get."""
    name = f"{op.entity}_kind"
    kind = args.get(name)
    is_kind = name in op.arguments and kind in get_subschema(op.schema, [name]).get("enum", ())
    return str(kind) if is_kind else op.entity


def _find_name(op: CatalogOp, args: dict[str, Any]) -> str:
    """Return the name of the row in the args: task_title or, for a row to create, its own title or name."""
    names = [f"{op.entity}_title", f"{op.entity}_name"]
    if op.action == "create":
        row = args.get(op.entity)
        args = {**(row if isinstance(row, dict) else {}), **args}
        names += ["title", "name"]
    found = (args[name] for name in names if isinstance(args.get(name), str))
    return next(found, "")[:MAX_NAME_LENGTH]
