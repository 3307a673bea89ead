"""Evaluate flags: the rollout, plus the master switch and a fallback from withdrawn releases."""

from django.conf import settings

from analytics.rollout import current
from analytics.rollout.evaluation import EvaluationDetails, Reason
from analytics.rollout.facts import EvaluationContext
from analytics.rollout.flags import LIVE, FlagKey
from registry import catalogs


def evaluate_flag(flag: FlagKey, facts: EvaluationContext) -> EvaluationDetails:
    """Evaluate a flag. Falls back to the live release if the pinned one was withdrawn.

    Queries only for a release that is not in memory yet.
    """
    is_on = flag != FlagKey.SURFACE or settings.AGENTIC_CHAT_TOOL_GATEWAY
    outcome = current.get_current().evaluate(flag, facts, is_on=is_on)
    if flag == FlagKey.RELEASE and outcome.variant != LIVE and not catalogs.is_servable(outcome.variant):
        return EvaluationDetails(flag, LIVE, "", Reason.DEFAULT)
    return outcome
