"""Repair an invalid call, so that the model needs no further call of help.

A repair is proposed, never run. It is certain, or it is left to the model with the candidates.
"""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from core.text import json_pointer
from gateway.arguments import coercion, name_repair, normalise, row_ids, value_repair
from gateway.arguments.repair_work import RepairHelp, RepairWork
from gateway.contracts.errors import FieldError
from gateway.contracts.validation import find_field_errors, get_subschema
from registry.catalog.model import CatalogOp

MAX_CALL_CHARACTERS = 4_000  # of a retry_with; a longer one costs more tokens than it saves
MAX_ROUNDS = 4  # a renamed argument may have a wrong value, which may be in the wrong type

_NULL_WORDS = frozenset(("none", "null", "nil", "n/a", "-", "nothing", "undefined", "no date", "no due date"))


@dataclass(slots=True)
class CallRepair:
    """The corrected call, if every error has one certain correction, and the errors in words that say what to send."""

    call: dict[str, Any] | None
    errors: list[FieldError]


def repair_call(
    op: CatalogOp,
    args: dict[str, Any],
    errors: Sequence[FieldError],
    help: RepairHelp,
    *,
    labels: Mapping[str, Any] = MappingProxyType({}),
) -> CallRepair:
    """Return the corrected call, if it is certain, and all errors.

    It corrects names and values in other words or other letters, dates in words, numbers and booleans in quotes, a
    single value instead of a list and the reverse, null for an optional argument, a title where an id belongs, and the
    malformed id of the project that the user looks at. If the args are those of another op, that op is called.
    `labels` are args for people that were left out; a title among them says which row is meant.
    """
    # What another correction fills in was not missing: the model sent it under another name.
    first_paths = [error.path for error in errors if error.code != "required"] or [error.path for error in errors]
    work = RepairWork(op, copy.deepcopy(args), help, frozenset(first_paths), labels)
    for _ in range(MAX_ROUNDS):
        if not errors or not _correct_all(work, errors):
            break
        complete = copy.deepcopy(work.args)
        coercion.fill_defaults(op.schema, complete)
        errors = find_field_errors(op.validator, complete)
    left_out = list[FieldError]()
    if errors and work.other_call is None:
        left_out = name_repair.leave_out_rest(work, errors, is_corrected=work.args != args)
        errors = [] if left_out else errors
    scope_errors = value_repair.choose_scope(work) if work.other_call is None else []
    call = work.other_call
    if call is None and not errors and not normalise.is_empty_update(op, work.args):
        call = {"op": op.op, "args": work.args}
    rule_errors = list[FieldError]()
    if work.other_call is None:
        wrong = {parts[0] for error in errors if (parts := json_pointer.split(error.path))}
        rule_errors, correction = help.find_rule_errors(
            {name: value for name, value in work.args.items() if name not in wrong}
        )
        rule_errors = [error for error in rule_errors if error.code.removeprefix("no_") not in wrong]
        if call is not None and rule_errors:
            corrected = correction.apply(work.args) if correction else None
            call = None if corrected is None else {"op": op.op, "args": corrected}
    rule_errors += scope_errors
    if call is None or drop_if_too_long(call) is None:
        still_wrong = {error.path for error in errors}
        return CallRepair(None, [*work.list_causes_with_corrections(still_wrong), *rule_errors])
    remarks = {error.path: error for error in left_out}
    shortened = [
        remarks[error.path] if error.path in remarks else _shorten(error)
        for error in work.errors
        if error.path in work.first_paths or error.path in remarks
    ]
    return CallRepair(call, [*shortened, *rule_errors])


def drop_if_too_long(call: dict[str, Any]) -> dict[str, Any] | None:
    """Return the call if it is small enough for retry_with, else None."""
    return call if len(json.dumps(call, ensure_ascii=False)) <= MAX_CALL_CHARACTERS else None


def _correct_all(work: RepairWork, errors: Sequence[FieldError]) -> bool:
    """Correct what is certain, and keep all errors. Return whether anything was corrected."""
    corrected = [_correct(work, error) for error in errors]
    return any(corrected)


def _correct(work: RepairWork, error: FieldError) -> bool:
    work.errors_by_path.setdefault(error.path, error)
    path = _find_path(work.args, error.path)
    if not path:
        return False
    holder: Any = work.args
    for part in path[:-1]:
        holder = holder[part]
    key, schema = path[-1], get_subschema(work.op.schema, path[:-1])
    if error.code == "required":
        return value_repair.add_missing(work, str(key)) if len(path) == 1 else value_repair.add_label(holder, path)
    if isinstance(holder, dict) and key not in holder:
        return False  # another correction has moved it
    if error.code == "unknown_argument":
        return name_repair.correct_name(work, error, holder, str(key), schema, is_top=len(path) == 1)
    argument = get_subschema(work.op.schema, path)
    if holder[key] is None and isinstance(key, str) and key not in schema.get("required", ()):
        del holder[key]  # strict tool modes send null for omitted arguments
        return True
    if _says_nothing(holder[key]) and "null" in argument.get("type", ()):
        holder[key] = None
        return True
    is_wrapped = isinstance(holder[key], dict) and len(path) == 1 and "object" not in argument.get("type", ())
    if is_wrapped and name_repair.unwrap(work, str(key)):
        return True
    if isinstance(holder[key], dict) and str(key).endswith("_id"):
        value_repair.take_kind(holder, str(key), schema)
    name = next(part for part in reversed(path) if isinstance(part, str))  # of the list, for an item of one
    if value_repair.correct_value(work, error, holder, key, argument, name):
        work.corrected_paths.add(error.path)
        return True
    return (
        error.code == "format"
        and argument.get("format") == "uuid"
        and value_repair.find_id_of_title(work, error, holder, key, name)
    )


def _find_path(value: Any, pointer: str) -> list[str | int]:
    """Return the keys and indexes of a JSON pointer. Empty if nothing can be there, as for a pointer that was cut."""
    path: list[str | int] = []
    *holders, last = json_pointer.split(pointer) or [""]
    for part in holders:
        path.append(int(part) if isinstance(value, list) and part.isdecimal() else part)
        try:
            value = value[path[-1]]
        except (KeyError, IndexError, TypeError):
            return []
    if isinstance(value, list):
        return [*path, int(last)] if last.isdecimal() and int(last) < len(value) else []
    return [*path, last] if isinstance(value, dict) and pointer else []


def _says_nothing(value: Any) -> bool:
    return isinstance(value, str) and value.strip().lower() in _NULL_WORDS


def _shorten(error: FieldError) -> FieldError:
    """Return an error without what retry_with shows."""
    message = error.message
    if error.code == "unknown_argument" and error.expected:
        message = f"{message.partition(': ')[0].removesuffix('.')}."
    if error.code in (row_ids.TITLE, row_ids.SIMILAR_TITLE):
        message = message.replace("send the id", "retry_with has the id")
    if error.code == row_ids.SIMILAR_TITLE:
        return replace(error, message=message)  # with its title, which shows the model whether that row is meant
    return replace(error, message=message, expected=None, got=None)
