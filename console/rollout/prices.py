"""Prices of models, by which experiments count dollars."""

from typing import Any

from django.contrib import admin

from analytics.rollout.experiments import ModelPrice
from console.log_pages import AuditedAdmin


@admin.register(ModelPrice)
class ModelPriceAdmin(AuditedAdmin):
    empty = "No prices yet. All models cost GATEWAY_DOLLARS_PER_MILLION_TOKENS, until you add a model family here."
    audit_kind = "price"
    list_display = ["family", "dollars_per_million"]
    fields = ["family", "dollars_per_million"]
    search_fields = ["family"]

    def get_audit_values(self, row: ModelPrice) -> dict[str, Any]:
        return {"family": row.family, "dollars_per_million": float(row.dollars_per_million)}
