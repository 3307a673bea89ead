"""Ops that the gateway runs itself, by tool name.

They need outgoing HTTP or the caller's release, which no upstream has.
"""

from functools import partial
from typing import Any

from gateway.executors.base import Handler, Outcome, Work
from gateway.utilities import guides, search, visit


def _fetched(_: Work, outcome: Outcome) -> Outcome:
    """Return the prepared result: these ops do all their work before the transaction."""
    return outcome


HANDLERS: dict[str, Handler[Any]] = {
    "web_visit": Handler(apply=_fetched, prepare=visit.page),
    "web_search": Handler(apply=_fetched, prepare=search.results),
    "get_buildos_overview": Handler(apply=partial(guides.show, prompt="overview")),
    "get_buildos_usage_guide": Handler(apply=partial(guides.show, prompt="usage_guide")),
}
