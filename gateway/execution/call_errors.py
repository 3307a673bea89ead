"""Build the errors of wrong calls: each says what is wrong and how to correct the call."""

from typing import Any

from core.text import english, json_text
from gateway.arguments import normalise, repair, repair_work, row_ids
from gateway.contracts import request_schemas
from gateway.contracts.errors import (
    ArgsCorrection,
    FieldError,
    InvalidRequestError,
    NotFoundError,
    describe_invalid_args,
)
from gateway.contracts.validation import find_field_errors
from gateway.execution import op_guesses, wrong_ids
from gateway.execution.stages import ParsedCall
from gateway.executors import in_process
from registry import search
from registry.catalog.model import CatalogOp, CatalogView
from registry.help import help_pages

MAX_SUGGESTIONS = 3


def build_empty_call_error(call: ParsedCall) -> InvalidRequestError:
    """Return the error of an empty body, with an example call."""
    return InvalidRequestError(
        f"The call is empty. Send an op and its args, such as {_render_example_call(call)}.", reason="empty_call"
    )


def build_malformed_call_error(
    op: CatalogOp | None, body: dict[str, Any], errors: list[FieldError]
) -> InvalidRequestError:
    """Return the error of a body that is not a call, with all field errors and, if it is certain, the corrected call.

    `op` is None if the body names no existing op.
    """
    return InvalidRequestError(
        "The call is malformed. Correct what field_errors lists.",
        reason="malformed_call",
        field_errors=errors,
        retry_with=_correct_malformed_call(op, body) if op else None,
    )


def build_unknown_op_error(call: ParsedCall) -> NotFoundError:
    """Return the error of a name that no op has, with the ops that it could mean and that the caller can see.

    If one op is certain, retry_with is the call of it.
    """
    view = op_guesses.limit_to_asked_group(call.view, call.name)
    guess = op_guesses.guess_op(call.catalog, view, call.name, call.args)
    is_foreign = op_guesses.is_in_unknown_group(call.catalog, call.view, call.name)
    # What another group has instead is only named: it may run something else at another service.
    paths = _name_guess(guess) if is_foreign else _suggest_ops(call, view, guess)
    problem = f"{call.path} is a group, not an op." if call.name in call.view.children else "This op does not exist."
    retry_with = _correct_op(call, guess) if guess and not is_foreign else None
    if retry_with is not None:
        return _build_not_found_error(f"{problem} If retry_with is what you meant, send it.", [], retry_with)
    hint = f" Did you mean {', '.join(paths)}?" if paths else ""
    return _build_not_found_error(problem + hint, paths)


def build_retired_op_error(call: ParsedCall, op: CatalogOp) -> NotFoundError:
    """Return the error of an op that is no longer active, with its successor if the caller can see it."""
    paths = [op.successor] if op.successor in call.view.ops else []
    hint = f" Use {op.successor}." if paths else ""
    return _build_not_found_error(f"{op.op} is retired." + hint, paths)


def build_no_change_error(op: CatalogOp) -> FieldError:
    """Return the error of an update without a field to change."""
    fields = ", ".join(normalise.list_updated_fields(op))
    return FieldError("", "no_change", f"The update changes nothing. Send one or more of {fields}.")


def build_invalid_args_error(
    call: ParsedCall, op: CatalogOp, args: dict[str, Any], errors: list[FieldError]
) -> InvalidRequestError:
    """Return the error of invalid args, with the corrected call if it is certain.

    `args` has no schema defaults, because the corrected call is built from it.
    """
    labels = {name: value for name, value in call.args.items() if name in op.display_only}
    found = repair.repair_call(op, args, errors, _build_repair_help(call, op), labels=labels)
    if found.call is None and (sibling := wrong_ids.find_sibling_call(call, op, args)):
        found = repair.CallRepair(sibling[1], [sibling[0]])
    message = describe_invalid_args(is_corrected=found.call is not None)
    return InvalidRequestError(message, reason="invalid_args", field_errors=found.errors, retry_with=found.call)


def find_id_source(call: ParsedCall, op: CatalogOp, name: str) -> str | None:
    """Return the op that lists the ids of an argument; None if there is none, or it is switched off."""
    list_ops = row_ids.get_list_ops(call.catalog)
    entity = row_ids.find_entity(name, op, {}, list_ops) if name in op.arguments else None
    path = list_ops[op.connection, entity] if entity else None
    return None if path in call.view.off_reasons else path


def _build_repair_help(call: ParsedCall, op: CatalogOp) -> repair_work.RepairHelp:
    return repair_work.RepairHelp(
        context=call.caller.context,
        subject=call.caller.subject,
        now=lambda: call.trace.at.astimezone(row_ids.get_time_zone(op, call.caller)),
        find_id=lambda name, text, args: row_ids.find_id(
            name, text, args, op=op, catalog=call.catalog, caller=call.caller
        ),
        find_project=lambda args: row_ids.find_project(op, args, call.caller),
        find_kind=lambda id: row_ids.find_kind(id, call.caller),
        find_date=lambda name, args: row_ids.find_date(name, args, op=op, caller=call.caller),
        find_other_op=lambda name, args: _find_other_op(call, op, name, args),
        find_rule_errors=lambda args: _find_rule_errors(call, op, args),
    )


def _find_rule_errors(
    call: ParsedCall, op: CatalogOp, args: dict[str, Any]
) -> tuple[list[FieldError], ArgsCorrection | None]:
    """Return the rules of the upstream that the args alone break, and the correction of all of them."""
    lookups = in_process.find_lookups(op.connection)
    if lookups is None:
        return [], None
    with row_ids.limit_lookup():
        errors = lookups.check_args(op.tool_name, args, call.caller.subject)
    return in_process.convert_errors(errors), in_process.build_correction(errors)


def _find_other_op(
    call: ParsedCall, op: CatalogOp, name: str, args: dict[str, Any]
) -> tuple[str, dict[str, Any] | None] | None:
    """Return the path of the other op that takes an argument, and the args if it can run with them."""
    found = op_guesses.find_op_that_takes(call.catalog, call.view, op, name, args) or op_guesses.find_link(
        call.catalog, call.view, op, name, args
    )
    if found is None:
        return None
    other, renamed = found
    if renamed is None:
        return other.op, None
    if repair_work.CURRENT_PROJECT in other.required - renamed.keys():
        project = row_ids.find_project(other, renamed, call.caller)
        renamed |= {repair_work.CURRENT_PROJECT: project} if project else {}
    return other.op, None if find_field_errors(other.validator, renamed) else renamed


def _name_guess(guess: op_guesses.OpGuess | None) -> list[str]:
    """Return the guess if it is about the entity that was asked for, not only the same verb."""
    return [guess.op.op] if guess and guess.op.entity else []


def _suggest_ops(call: ParsedCall, view: CatalogView, guess: op_guesses.OpGuess | None) -> list[str]:
    """Return up to three ops of a view for a name that no op has: the guess, then by meaning and by spelling.

    An op that deletes is left out unless the name asks for it.
    """
    similar = help_pages.suggest_paths(call.catalog, view, call.name)
    words = english.to_snake_case(call.name[:200]).replace("_", " ")
    by_meaning = search.find_ops(call.catalog, view, words, limit=MAX_SUGGESTIONS, use_endpoint=False)
    paths = dict.fromkeys([*([guess.op.op] if guess else []), *similar, *by_meaning])
    may_delete = op_guesses.asks_to_delete(call.name, call.catalog.vocabulary)
    ops = [call.catalog.ops[path] for path in paths if path in view.ops]
    return [op.op for op in ops if may_delete or op.action != op_guesses.DELETE][:MAX_SUGGESTIONS]


def _correct_op(call: ParsedCall, guess: op_guesses.OpGuess) -> dict[str, Any] | None:
    """Return the call of the op that was meant, if its args are valid or certain to correct."""
    sent = guess.args if guess.replaces else guess.args | call.args
    result = normalise.normalise_args(guess.op, sent, call.caller.context)
    errors = find_field_errors(guess.op.validator, result.args)
    if normalise.is_empty_update(guess.op, result.args):
        return None
    if not errors:
        return repair.drop_if_too_long({"op": guess.op.op, "args": result.without_defaults})
    return repair.repair_call(guess.op, result.without_defaults, errors, _build_repair_help(call, guess.op)).call


def _build_not_found_error(
    message: str, suggestions: list[str], retry_with: dict[str, Any] | None = None
) -> NotFoundError:
    details = {"did_you_mean": suggestions} if suggestions else None
    return NotFoundError(message, reason="unknown_op", details=details, retry_with=retry_with)


def _correct_malformed_call(op: CatalogOp, body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the corrected call if it is certain: args were sent as a string, in a list, or next to args."""
    args = body.get("args", {})
    if isinstance(args, str):
        try:
            args = json_text.parse(args.encode())
        except json_text.NotStrictJSON:
            return None
    if isinstance(args, list) and len(args) == 1:
        args = args[0]
    misplaced: dict[str, Any] = {
        name: value for name, value in body.items() if name not in request_schemas.EXEC["properties"]
    }
    if len(misplaced) == 1 and not args and isinstance(inner := next(iter(misplaced.values())), dict):
        misplaced = inner  # {"op": …, "params": {…}}
    if not isinstance(args, dict) or not misplaced.keys() <= op.arguments.keys() - args.keys():
        return None
    options = {name: value for name, value in body.items() if name in ("idempotency_key", "dry_run")}
    corrected_call: dict[str, Any] = {"op": op.op, "args": {**args, **misplaced}, **options}
    if find_field_errors(request_schemas.get_exec_validator(), corrected_call):
        return None
    return repair.drop_if_too_long(corrected_call)


def _render_example_call(call: ParsedCall) -> str:
    """Return an example call as JSON that works for this caller."""
    visible = (call.catalog.ops[path] for path in sorted(call.view.ops))
    op = next((op for op in visible if op.examples and not op.is_write), None)
    if op is None:
        return '{"op": "<op>", "args": {}}'
    return json_text.dump({"op": op.op, "args": op.examples[0]["args"]}).decode()
