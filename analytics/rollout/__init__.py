"""Rollout: which variant of each flag a subject gets, decided by cohorts in their order."""
