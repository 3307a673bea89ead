"""Judge a call before it runs, and remember what it brings into its turn."""

from gateway.access.request_context import Caller
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import PermissionDeniedError
from gateway.data_flow import policy, turn_labels
from gateway.data_flow.policy import FlowDecision
from gateway.models import FlowMode
from registry.catalog import connections
from registry.catalog.model import Catalog, CatalogOp


def check_call(caller: Caller, trace: Trace, op: CatalogOp, catalog: Catalog) -> FlowDecision | None:
    """Return the rule that holds for a call, if any, and name it in the trace, for the event.

    Raises PermissionDeniedError if the rule refuses the call. The trial of an admin has no client, and no rule.
    """
    flow = policy.get_policy(caller.key)
    if flow.mode == FlowMode.OFF or not caller.key.client_id:
        return None
    op_flow = policy.get_targets(catalog, connections.get_connections()).get_flow(op)
    if not op_flow.targets or not any(rule.then in op_flow.targets for rule in flow.rules):
        return None
    decision = policy.decide(flow, op, op_flow.labels, turn_labels.read_labels(caller, at=trace.at))
    if decision is not None:
        trace.data_flow = f"{flow.mode}: {decision.rule}"
        if decision.refuses:
            raise build_refusal(decision, op)
    return decision


def record_labels(caller: Caller, trace: Trace, op: CatalogOp, catalog: Catalog) -> None:
    """Remember what a call brings into its turn, before it runs: no later call can then miss it."""
    flow = policy.get_policy(caller.key)
    if flow.mode == FlowMode.OFF or not caller.key.client_id:
        return
    targets = policy.get_targets(catalog, connections.get_connections())
    if wanted := [
        each for each in targets.get_flow(op).brings if targets.is_looked_for(each, op.connection, flow.rules)
    ]:
        turn_labels.write_labels(caller, wanted, op=op.op, connection=op.connection, trace_id=trace.id, at=trace.at)


def build_refusal(decision: FlowDecision, op: CatalogOp) -> PermissionDeniedError:
    """Return the error for a call that a rule refuses: which rule, and which earlier call brought its label."""
    return PermissionDeniedError(
        f"The rules of data flow do not allow this call; nothing was done. {decision.explain(op)} "
        "Do not try another way to send the data: tell the user what you would have sent, and where.",
        reason="data_flow",
        details={"data_flow": decision.as_dict()},
    )
