"""What a flag says for somebody: the rollout, under the master switch, of releases that are still served."""

from django.conf import settings

from analytics.rollout import current
from analytics.rollout.evaluation import Outcome, Reason
from analytics.rollout.facts import Facts
from analytics.rollout.flags import LIVE, FlagKey
from registry import catalogs


def decide(flag: FlagKey, facts: Facts) -> Outcome:
    """Return what a flag says. Whose release was withdrawn follows what is live. No query, but for a release anew."""
    is_on = flag != FlagKey.SURFACE or settings.AGENTIC_CHAT_TOOL_GATEWAY
    outcome = current.current().evaluate(flag, facts, is_on=is_on)
    if flag == FlagKey.RELEASE and outcome.variant != LIVE and not catalogs.is_served(outcome.variant):
        return Outcome(flag, LIVE, "", Reason.DEFAULT)
    return outcome
