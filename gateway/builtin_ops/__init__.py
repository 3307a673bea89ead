"""Ops that the gateway runs itself, by tool name.

They need outgoing HTTP, the caller's release or the operation events, which no upstream has.
"""

from functools import partial
from typing import Any

from gateway.builtin_ops import fetch_page, registry_ops, web_search
from gateway.executors.base import BuiltinHandler, UpstreamCall, UpstreamResponse


def _return_prepared(_: UpstreamCall, outcome: UpstreamResponse) -> UpstreamResponse:
    """Return the prepared result: these ops do all their work before the transaction."""
    return outcome


HANDLERS: dict[str, BuiltinHandler[Any]] = {
    "web_visit": BuiltinHandler(apply=_return_prepared, prepare=fetch_page.fetch),
    "web_search": BuiltinHandler(apply=_return_prepared, prepare=web_search.search_web),
    "get_entity_history": BuiltinHandler(apply=registry_ops.list_changes),
    "registry_help": BuiltinHandler(apply=registry_ops.answer_help),
    "run_agent": BuiltinHandler(apply=registry_ops.plan_agent_run),
    "get_buildos_overview": BuiltinHandler(apply=partial(registry_ops.answer_guide, prompt="overview")),
    "get_buildos_usage_guide": BuiltinHandler(apply=partial(registry_ops.answer_guide, prompt="usage_guide")),
}
