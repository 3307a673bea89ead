"""Compare two arms of an experiment so that the answer is valid at every look, however often somebody looks.

The unit is the subject, because subjects are assigned: the calls of one subject are alike, so that counting calls would
claim more than is known. Pure functions; the sources of their rules are in the docstrings of the modules.
"""

from analytics.experiments.statistics.arm_moments import ArmMoments, MetricEstimate, MetricKind, PastMoments, winsorise
from analytics.experiments.statistics.arm_tests import (
    MAX_GUARDRAIL_TUNING,
    MIN_SUBJECTS,
    MIN_TUNING,
    SMALL_ARM_SPREAD,
    ArmResult,
    ArmVerdict,
    MetricTest,
    choose_guardrail_tuning,
    choose_tuning,
    compare_arms,
)
from analytics.experiments.statistics.confidence_sequences import (
    compute_half_width,
    compute_one_sided_width,
    compute_p_value,
)
from analytics.experiments.statistics.many_tests import CONCENTRATION, adjust_p_values, compute_sample_ratio_p_value
from analytics.experiments.statistics.past_adjustment import MIN_PAST_SUBJECTS

__all__ = [
    "CONCENTRATION",
    "MAX_GUARDRAIL_TUNING",
    "MIN_PAST_SUBJECTS",
    "MIN_SUBJECTS",
    "MIN_TUNING",
    "SMALL_ARM_SPREAD",
    "ArmMoments",
    "ArmResult",
    "ArmVerdict",
    "MetricEstimate",
    "MetricKind",
    "MetricTest",
    "PastMoments",
    "adjust_p_values",
    "choose_guardrail_tuning",
    "choose_tuning",
    "compare_arms",
    "compute_half_width",
    "compute_one_sided_width",
    "compute_p_value",
    "compute_sample_ratio_p_value",
    "winsorise",
]
