"""Access policies: pure decisions, each with the reason that is shown, stored and tested."""

from dataclasses import dataclass

from gateway.models import Scope
from gateway.request_context import Caller
from registry.catalog.model import CatalogOp

SCOPES = {"read": Scope.EXEC_READ, "write": Scope.EXEC_WRITE}


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """Whether access is allowed. If not: a reason for machines and a message for the caller."""

    allowed: bool
    reason: str = ""
    message: str = ""


ALLOWED = AccessDecision(allowed=True)


def may_use_help(caller: Caller) -> AccessDecision:
    """Decide by the key's scope whether a batch entry may use help. For the help endpoint the view checks the scope."""
    if Scope.HELP in caller.key.scopes:
        return ALLOWED
    return AccessDecision(False, "scope_missing", f"This API key lacks the scope {Scope.HELP}. Use a key that has it.")


def may_run(caller: Caller, op: CatalogOp) -> AccessDecision:
    """Decide by the key's scope, the client's op patterns and whether the op needs a subject, in this order."""
    scope = SCOPES[op.kind]
    if scope not in caller.key.scopes:
        return AccessDecision(False, "scope_missing", f"This API key lacks the scope {scope}. Use a key that has it.")
    if not caller.key.visibility.allows(op):
        return AccessDecision(False, "op_not_allowed", f"This client may not run {op.op}.")
    if op.needs_subject and not caller.subject:
        return AccessDecision(
            False, "subject_required", f"{op.op} runs for one end user. Send their id in Gateway-Subject."
        )
    return ALLOWED
