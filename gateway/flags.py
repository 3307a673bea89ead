"""Evaluate flags: the rollout, plus the master switch and a fallback from withdrawn releases."""

from django.conf import settings

from analytics.rollout import current
from analytics.rollout.evaluation import Outcome, Reason
from analytics.rollout.facts import Facts
from analytics.rollout.flags import LIVE, FlagKey
from registry import catalogs


def decide(flag: FlagKey, facts: Facts) -> Outcome:
    """Evaluate a flag. Falls back to the live release if the pinned one was withdrawn.

    Queries only for a release that is not in memory yet.
    """
    is_on = flag != FlagKey.SURFACE or settings.AGENTIC_CHAT_TOOL_GATEWAY
    outcome = current.current().evaluate(flag, facts, is_on=is_on)
    if flag == FlagKey.RELEASE and outcome.variant != LIVE and not catalogs.is_served(outcome.variant):
        return Outcome(flag, LIVE, "", Reason.DEFAULT)
    return outcome
