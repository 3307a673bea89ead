"""Say which row an id names that is of another kind than the argument needs, and propose the call that was meant."""

from dataclasses import dataclass
from typing import Any

from gateway.access import policies
from gateway.access.request_context import is_uuid
from gateway.arguments import coercion, normalise, repair, row_ids
from gateway.contracts.errors import FieldError, GatewayError
from gateway.contracts.validation import find_field_errors
from gateway.execution.stages import ParsedCall, ValidCall
from gateway.executors import in_process
from registry.catalog.model import CatalogOp

CODE = "wrong_kind"
MAX_IDS = 4  # of a call that are looked up
PROJECT = "project"  # the entity that holds the rows of the others


@dataclass(frozen=True, slots=True)
class WrongId:
    """An id argument with the id of a row of another kind. `entity` is the kind that the argument needs."""

    argument: str
    id: str
    entity: str
    kind: str
    title: str


def explain_wrong_ids(valid: ValidCall, error: GatewayError) -> None:
    """Add to the error of a missing row what its ids are the ids of, and the corrected call if one is certain.

    Only rows that the subject can see are named.
    """
    if not valid.permitted.is_as_asked:
        return
    op, args = valid.permitted.op, valid.permitted.normalised.without_defaults
    wrong_ids = _find_wrong_ids(valid.call, op, args)
    if not wrong_ids:
        return
    call = _correct_call(valid.call, op, args, wrong_ids)
    error.retry_with = repair.drop_if_too_long(call) if call else None
    entity = wrong_ids[0].entity
    advice = (
        "If retry_with is what you meant, send it." if error.retry_with else f"Send the id of {_add_article(entity)}."
    )
    error.field_errors = [_build_field_error(each) for each in wrong_ids]
    error.args = (f"{error.field_errors[0].message} {advice}",)


def find_sibling_call(
    call: ParsedCall, op: CatalogOp, args: dict[str, Any]
) -> tuple[FieldError, dict[str, Any]] | None:
    """Return the call of the op for the row that was sent to the op of another kind, and the error that says so.

    For args that this op refuses, perhaps because they are those of the other one. None if the id is right.
    """
    own_id = f"{op.entity}_id"
    wrong_ids = _find_wrong_ids(call, op, {own_id: args[own_id]} if own_id in args else {})
    sibling_call = _call_sibling(call, op, wrong_ids[0]) if wrong_ids else None
    return (_build_field_error(wrong_ids[0]), sibling_call) if sibling_call else None


def _add_article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"


def _build_field_error(wrong: WrongId) -> FieldError:
    message = f"{wrong.argument} is the id of {_add_article(wrong.kind)}, not of {_add_article(wrong.entity)}."
    return FieldError(
        f"/{wrong.argument}",
        CODE,
        message,
        expected=wrong.entity,
        got=f"{wrong.kind}: {wrong.title}" if wrong.title else wrong.kind,
    )


def _find_wrong_ids(call: ParsedCall, op: CatalogOp, args: dict[str, Any]) -> list[WrongId]:
    lookups = in_process.find_lookups(op.connection)
    if lookups is None:
        return []
    list_ops = row_ids.get_list_ops(call.catalog)
    ids = {name: value for name, value in args.items() if isinstance(value, str) and is_uuid(value)}
    wrong_ids = []
    with row_ids.limit_lookup():
        for name, id in list(ids.items())[:MAX_IDS]:
            entity = row_ids.find_entity(name, op, args, list_ops)
            kind = lookups.find_kind(id, call.caller.subject) if entity else None
            if entity and kind and kind != entity:
                title = lookups.find_title(kind, id, call.caller.subject) or ""
                wrong_ids.append(WrongId(name, id, entity, kind, title))
    return wrong_ids


def _correct_call(
    call: ParsedCall, op: CatalogOp, sent: dict[str, Any], wrong_ids: list[WrongId]
) -> dict[str, Any] | None:
    """Return the call that was meant, None if it is not certain or would not be valid."""
    args = dict(sent)
    if len(wrong_ids) == 1 and (sibling_call := _call_sibling(call, op, wrong_ids[0])):
        return sibling_call
    for wrong in wrong_ids:
        if not _correct_argument(call, op, wrong, args):
            return None
    return {"op": op.op, "args": args} if _is_valid(op, args) else None


def _correct_argument(call: ParsedCall, op: CatalogOp, wrong: WrongId, args: dict[str, Any]) -> bool:
    """Send the kind of the row, or its id as the argument that takes one of its kind, or the project that it is in.

    The project as the parent of a row in it is left out: the row is then at the top.
    """
    kind_name = f"{wrong.argument.removesuffix('_id')}_kind"
    if wrong.kind in op.arguments.get(kind_name, {}).get("enum", ()):
        args[kind_name] = wrong.kind
        return True
    others = [each for each in op.arguments if _takes_id_of(each, wrong.kind) and each not in args]
    if len(others) == 1 and wrong.argument not in op.required:
        args[others[0]] = args.pop(wrong.argument)
        return True
    if wrong.kind == PROJECT and wrong.argument not in op.required and args.get(f"{PROJECT}_id") == wrong.id:
        del args[wrong.argument]
        return True
    if wrong.entity != PROJECT or (op.entity == PROJECT and op.is_write):
        return False
    with row_ids.limit_lookup():
        lookups = in_process.find_lookups(op.connection)
        project = lookups.find_project(wrong.kind, wrong.id, call.caller.subject) if lookups else None
    if project is None:
        return False
    args[wrong.argument] = project
    return True


def _takes_id_of(argument: str, kind: str) -> bool:
    return argument == f"{kind}_id" or argument.endswith(f"_{kind}_id")


def _call_sibling(call: ParsedCall, op: CatalogOp, wrong: WrongId) -> dict[str, Any] | None:
    """Return the call of the op that does the same to a row of this kind, if it takes the args that were sent.

    A read can leave out what the other op does not take. A project is read for a row in it.
    """
    if wrong.argument != f"{op.entity}_id" or wrong.entity != op.entity:
        return None
    if op.entity == PROJECT and not op.is_write:
        return None
    sibling = _find_sibling(call, op, wrong.kind) or _find_list(call, op, wrong.kind)
    if sibling is None:
        return None
    sent = {name: value for name, value in call.args.items() if value != wrong.id}  # in words of any op
    renamed = normalise.normalise_args(
        sibling, sent | {f"{wrong.kind}_id": wrong.id}, call.caller.context
    ).without_defaults
    if not op.is_write:
        renamed = {name: value for name, value in renamed.items() if name in sibling.arguments}
    return {"op": sibling.op, "args": renamed} if _is_valid(sibling, renamed) else None


def _find_list(call: ParsedCall, op: CatalogOp, kind: str) -> CatalogOp | None:
    """Return the op that lists the rows of a list, such as the documents of a task, for a row of another kind."""
    noun = op.op.split(".")[-2] if op.action == "list" else ""
    listed = next(
        (
            each
            for each, entity_words in op.vocabulary.words_by_entity.items()
            if noun and noun in (each, f"{each}s", *entity_words, *(f"{word}s" for word in entity_words))
        ),
        None,
    )
    path = row_ids.get_list_ops(call.catalog).get((op.connection, listed)) if listed else None
    other = call.catalog.ops[path] if path and path != op.op and path in call.view.ops else None
    if other is None or f"{kind}_id" not in other.arguments:
        return None
    return other if policies.may_run(call.caller, other).allowed else None


def _find_sibling(call: ParsedCall, op: CatalogOp, kind: str) -> CatalogOp | None:
    """Return the op of the same action for another kind, if there is one and the caller may run it."""
    ops = [
        each
        for path, each in call.catalog.ops.items()
        if path in call.view.ops
        and each.connection == op.connection
        and (each.entity, each.action, each.kind) == (kind, op.action, op.kind)
        and f"{kind}_id" in each.required
        and each.op.rpartition(".")[2] == op.op.rpartition(".")[2]
        and policies.may_run(call.caller, each).allowed
    ]
    return min(ops, key=lambda each: each.op.count("."), default=None)


def _is_valid(op: CatalogOp, args: dict[str, Any]) -> bool:
    complete = dict(args)
    coercion.fill_defaults(op.schema, complete)
    return not find_field_errors(op.validator, complete)
