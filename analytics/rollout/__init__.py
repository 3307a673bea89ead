"""Rollout: evaluate flags for a subject. The first matching cohort decides the variant."""
