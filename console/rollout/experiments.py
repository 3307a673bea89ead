"""Experiments: what is tried on whom, and what it shows."""

from django.contrib import admin

from analytics.rollout.experiments import Experiment
from core.admin import base


@admin.register(Experiment)
class ExperimentAdmin(base.ReadOnlyMixin, base.ModelAdmin[Experiment]):
    empty = "No experiments yet. One compares two variants on equal users, and says when you may believe it."
    list_display = ["name", "flag", "state", "primary_metric", "started_at", "owner"]
    list_filter = ["state", "flag"]
    search_fields = ["name", "hypothesis", "owner"]
