"""Ops that the gateway runs itself, by tool name.

They need outgoing HTTP, the caller's release or the operation events, which no upstream has.
"""

from functools import partial

from core.handler_contract import OpHandler, OpOutcome
from gateway.builtin_ops import fetch_page, registry_ops, web_search
from gateway.executors.in_process import GatewayOpRequest


def _return_prepared(request: GatewayOpRequest) -> OpOutcome:
    """Return the prepared result: these ops do all their work before the transaction."""
    outcome: OpOutcome = request.prepared
    return outcome


HANDLERS: dict[str, OpHandler[GatewayOpRequest]] = {
    "web_visit": OpHandler(apply=_return_prepared, prepare=fetch_page.fetch),
    "web_search": OpHandler(apply=_return_prepared, prepare=web_search.search_web),
    "get_entity_history": OpHandler(apply=registry_ops.list_changes),
    "registry_help": OpHandler(apply=registry_ops.answer_help),
    "run_agent": OpHandler(apply=registry_ops.plan_agent_run),
    "get_buildos_overview": OpHandler(apply=partial(registry_ops.answer_guide, prompt="overview")),
    "get_buildos_usage_guide": OpHandler(apply=partial(registry_ops.answer_guide, prompt="usage_guide")),
}
