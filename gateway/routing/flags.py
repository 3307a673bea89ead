"""Evaluate flags: the rollout, plus the master switch and a fallback from withdrawn releases."""

from django.conf import settings

from analytics.rollout import rollout_cache
from analytics.rollout.evaluation import EvaluationDetails, Reason
from analytics.rollout.evaluation_context import EvaluationContext
from analytics.rollout.flags import LIVE, FlagKey
from registry.catalog import cache


def evaluate_flag(flag: FlagKey, facts: EvaluationContext) -> EvaluationDetails:
    """Evaluate a flag. Falls back to the live release if the pinned one was withdrawn.

    Queries only for a release that is not in memory yet.
    """
    is_on = flag != FlagKey.SURFACE or settings.AGENTIC_CHAT_TOOL_GATEWAY
    outcome = rollout_cache.get_current().evaluate(flag, facts, is_on=is_on)
    if flag == FlagKey.RELEASE and outcome.variant != LIVE and not cache.is_servable(outcome.variant):
        return EvaluationDetails(flag, LIVE, "", Reason.DEFAULT)
    return outcome
