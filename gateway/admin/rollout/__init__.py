"""Admin pages of the rollout. The modules of a model register it when they are imported."""

from gateway.admin.rollout import assignments, cohorts, flags, subjects

__all__ = ["assignments", "cohorts", "flags", "subjects"]
