"""Access policies: pure decisions, each with a reason that is shown, stored and tested."""

from dataclasses import dataclass

from gateway.access.request_context import Caller
from gateway.models import Scope
from registry.catalog.model import CatalogOp

SCOPES = {"read": Scope.EXEC_READ, "write": Scope.EXEC_WRITE}


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """Whether access is allowed. If not: a reason for machines and a message for the caller."""

    allowed: bool
    reason: str = ""
    message: str = ""


ALLOWED = AccessDecision(allowed=True)


def has_scope(caller: Caller, scope: str) -> AccessDecision:
    """Decide whether the key has a scope if no view checks it: for an entry of a batch, an MCP tool or an op."""
    if scope in caller.key.scopes:
        return ALLOWED
    return AccessDecision(False, "scope_missing", f"This API key lacks the scope {scope}. Use a key that has it.")


def may_run(caller: Caller, op: CatalogOp) -> AccessDecision:
    """Decide by the key's scopes, the agent, the client's op patterns and the op's need of a subject, in this order."""
    for scope in filter(None, (SCOPES[op.kind], op.required_scope)):
        if not (decision := has_scope(caller, scope)).allowed:
            return decision
    if caller.agent is not None and not caller.agent.allows(op):
        kind = "its own read" if caller.agent.is_read_only else "its own"
        return AccessDecision(
            False, "agent_may_not", f"The agent {caller.agent.name} cannot run {op.op}. It can run only {kind} ops."
        )
    if not caller.key.visibility.allows(op):
        return AccessDecision(False, "op_not_allowed", f"This client cannot run {op.op}.")
    if op.needs_subject and not caller.subject:
        return AccessDecision(
            False, "subject_required", f"{op.op} runs for one end user. Send their id in Gateway-Subject."
        )
    return ALLOWED
