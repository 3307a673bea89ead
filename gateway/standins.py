"""Run the list op for a get without its id, so that the model can choose a row."""

from typing import Any

from gateway import policies
from gateway.callers import Caller
from gateway.normalise import Normalised, normalise
from registry.catalogs import Catalog, CatalogOp


def stand_in(
    op: CatalogOp, found: Normalised, *, catalog: Catalog, caller: Caller
) -> tuple[CatalogOp, Normalised] | None:
    """Return the op that runs instead of this one and its args; None if the requested op itself is to run.

    `without_id` of the requested op names the other op. It must be active, allowed for the caller, switched on, and
    accept the args that were sent. Args that only the requested op has are left out with a warning.
    """
    instead = catalog.ops.get(op.without_id)
    missing = [name for name in sorted(op.required) if found.args.get(name) is None]
    if instead is None or not missing or not instead.is_active or not policies.may_run(caller, instead).allowed:
        return None
    if instead.op in catalog.view(caller.visibility).off:
        return None
    args, ignored = _shared(op, found, instead)
    carried = normalise(instead, args, caller.context)
    if not carried.args.keys() <= instead.arguments.keys():
        return None  # a name is misspelt, perhaps the id: the requested op reports it
    told = f"{missing[0]} is missing, so {instead.op} ran instead; send {missing[0]} for one complete row."
    of_one_row = [f"Ignored {name}: it applies to one row." for name in ignored]
    carried.warnings = [told, *found.warnings, *of_one_row, *carried.warnings]
    return instead, carried


def _shared(op: CatalogOp, found: Normalised, instead: CatalogOp) -> tuple[dict[str, Any], list[str]]:
    """Return the sent args that the other op can take, and the names of those that were left out."""
    sent = {name: value for name, value in found.without_defaults.items() if name not in found.applied_defaults}
    ignored = [name for name in sent if name in op.arguments and name not in instead.arguments]
    args = {name: value for name, value in sent.items() if name not in ignored}
    return args, [name for name in ignored if name not in op.required]
