"""Run the list op for a get without its id, so that the model can choose a row."""

from typing import Any

from gateway.access import policies
from gateway.arguments.normalise import NormalisedArgs, normalise_args
from gateway.request_context import Caller
from registry.catalog.model import Catalog, CatalogOp


def fall_back_to_list(
    op: CatalogOp, result: NormalisedArgs, *, catalog: Catalog, caller: Caller
) -> tuple[CatalogOp, NormalisedArgs] | None:
    """Return the op that runs instead of this one and its args; None if the requested op itself is to run.

    `without_id` of the requested op names the other op. It must be active, allowed for the caller, switched on, and
    accept the args that were sent. Args that only the requested op has are left out with a warning.
    """
    list_op = catalog.ops.get(op.without_id)
    missing = [name for name in sorted(op.required) if result.args.get(name) is None]
    if list_op is None or not missing or not list_op.is_active or not policies.may_run(caller, list_op).allowed:
        return None
    if list_op.op in catalog.view_for(caller.visibility).off_reasons:
        return None
    args, ignored = _select_shared_args(op, result, list_op)
    list_args = normalise_args(list_op, args, caller.context)
    if not list_args.args.keys() <= list_op.arguments.keys():
        return None  # a name is misspelt, perhaps the id: the requested op reports it
    message = f"{missing[0]} is missing, so {list_op.op} ran instead; send {missing[0]} for one complete row."
    ignored_warnings = [f"Ignored {name}: it applies to one row." for name in ignored]
    list_args.warnings = [message, *result.warnings, *ignored_warnings, *list_args.warnings]
    return list_op, list_args


def _select_shared_args(op: CatalogOp, result: NormalisedArgs, list_op: CatalogOp) -> tuple[dict[str, Any], list[str]]:
    """Return the sent args that the other op can take, and the names of those that were left out."""
    explicit_args = {
        name: value for name, value in result.without_defaults.items() if name not in result.applied_defaults
    }
    ignored = [name for name in explicit_args if name in op.arguments and name not in list_op.arguments]
    args = {name: value for name, value in explicit_args.items() if name not in ignored}
    return args, [name for name in ignored if name not in op.required]
