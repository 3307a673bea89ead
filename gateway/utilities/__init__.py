"""The ops that the gateway runs itself, by tool name: they need the way out, or the caller's release, of which no
upstream knows."""

from functools import partial
from typing import Any

from gateway.executors.base import Handler, Outcome, Work
from gateway.utilities import guides, search, visit


def _fetched(_: Work, outcome: Outcome) -> Outcome:
    """Answer what the network said: there is nothing left to do inside a transaction."""
    return outcome


HANDLERS: dict[str, Handler[Any]] = {
    "web_visit": Handler(apply=_fetched, prepare=visit.page),
    "web_search": Handler(apply=_fetched, prepare=search.results),
    "get_buildos_overview": Handler(apply=partial(guides.show, prompt="overview")),
    "get_buildos_usage_guide": Handler(apply=partial(guides.show, prompt="usage_guide")),
}
