"""Build the errors of wrong calls: each says what is wrong and how to correct the call."""

from typing import Any

import orjson

from core import strict_json
from gateway.arguments import normalise, repair
from gateway.contracts import request_schemas
from gateway.contracts.errors import FieldError, InvalidRequestError, NotFoundError
from gateway.contracts.validation import find_field_errors
from gateway.execution.exec_call import ExecCall
from registry.catalog.model import Catalog, CatalogOp
from registry.help import help_pages
from registry.jsonschema import signatures

MAX_SCHEMA_CHARACTERS = 1_500  # a validation error includes a schema up to this size, which saves a call of help


def build_empty_call_error(call: ExecCall) -> InvalidRequestError:
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
        f"The call is malformed. {errors[0].message}",
        reason="malformed_call",
        field_errors=errors,
        retry_with=_correct_malformed_call(op, body) if op else None,
    )


def build_unknown_op_error(call: ExecCall) -> NotFoundError:
    """Return the error of a name that no op has, with the most similar ops that the caller can see."""
    suggestions = [
        path for path in help_pages.suggest_paths(call.catalog, call.view, call.name) if path in call.view.ops
    ]
    problem = f"{call.path} is a group, not an op." if call.name in call.view.children else "This op does not exist."
    hint = f" Did you mean {', '.join(suggestions)}?" if suggestions else ""
    return _build_not_found_error(problem + hint, suggestions)


def build_retired_op_error(call: ExecCall, op: CatalogOp) -> NotFoundError:
    """Return the error of an op that is no longer active, with its successor if the caller can see it."""
    suggestions = [op.successor] if op.successor in call.view.ops else []
    hint = f" Use {op.successor}." if suggestions else ""
    return _build_not_found_error(f"{op.op} is retired." + hint, suggestions)


def build_no_change_error(op: CatalogOp) -> FieldError:
    """Return the error of an update without a field to change."""
    fields = ", ".join(name for name in op.arguments if name not in op.required | normalise.UPDATE_OPTIONS)
    return FieldError("", "no_change", f"The update changes nothing. Send one or more of {fields}.")


def build_invalid_args_error(
    call: ExecCall, op: CatalogOp, args: dict[str, Any], errors: list[FieldError]
) -> InvalidRequestError:
    """Return the error of invalid args, with the corrected call if it is certain, else with the schema if it is small.

    `args` has no schema defaults, because the corrected call is built from it.
    """
    retry_with = repair.repair_call(op, args, errors, call.caller.context)
    schema = signatures.strip_annotations(op.schema, prose=False)
    includes_schema = retry_with is None and len(orjson.dumps(schema)) <= MAX_SCHEMA_CHARACTERS
    return InvalidRequestError(
        f"{op.op} cannot run with these args. " + " ".join(error.message for error in errors[:3]),
        reason="invalid_args",
        field_errors=errors,
        retry_with=retry_with,
        details={"schema": schema} if includes_schema else None,
    )


def find_id_sources(call: ExecCall, op: CatalogOp) -> dict[str, str]:
    """Return, for each id argument of an op, the op that lists such ids, unless it is switched off."""
    list_ops = call.catalog.get_or_derive(_ListOps, lambda: _index_list_ops(call.catalog))
    entities = {name: (op.connection, name[:-3]) for name in op.arguments if name[-3:] == "_id"}
    sources = {name: list_ops[entity] for name, entity in entities.items() if entity in list_ops}
    return {name: path for name, path in sources.items() if path not in call.view.off_reasons}


def _build_not_found_error(message: str, suggestions: list[str]) -> NotFoundError:
    return NotFoundError(message, reason="unknown_op", details={"did_you_mean": suggestions} if suggestions else None)


def _correct_malformed_call(op: CatalogOp, body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the corrected call if it is certain: args were sent as a string, or next to op instead of inside args."""
    args = body.get("args", {})
    if isinstance(args, str):
        try:
            args = strict_json.loads(args.encode())
        except strict_json.NotStrictJSON:
            return None
    misplaced_args: dict[str, Any] = {
        name: value for name, value in body.items() if name not in request_schemas.EXEC["properties"]
    }
    if not isinstance(args, dict) or not set(misplaced_args) <= set(op.arguments) - set(args):
        return None
    options = {name: value for name, value in body.items() if name in ("idempotency_key", "dry_run")}
    corrected_call: dict[str, Any] = {"op": op.op, "args": {**args, **misplaced_args}, **options}
    if find_field_errors(request_schemas.get_exec_validator(), corrected_call):
        return None
    return repair.drop_if_too_long(corrected_call)


def _render_example_call(call: ExecCall) -> str:
    """Return an example call as JSON that works for this caller."""
    visible = (call.catalog.ops[path] for path in sorted(call.view.ops))
    op = next((op for op in visible if op.examples and not op.is_write), None)
    if op is None:
        return '{"op": "<op>", "args": {}}'
    return orjson.dumps({"op": op.op, "args": op.examples[0]["args"]}).decode()


class _ListOps(dict[tuple[str, str], str]):
    """Maps (connection, entity) to the op that lists the entity. Ids of one upstream mean nothing to another."""


def _index_list_ops(catalog: Catalog) -> _ListOps:
    lists = (op for op in catalog.ops.values() if op.action == "list" and op.is_active and op.entity)
    return _ListOps({(op.connection, op.entity): op.op for op in lists})
