"""The models in the console, their pages and their actions."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.test import Client as HttpClient
from django.urls import reverse

MODELS = sorted(admin.site._registry, key=lambda model: model._meta.label)
PROJECT_APPS = ("analytics", "audit", "chat", "gateway", "notifications", "registry", "workspace")


def get_admin_url(model: type[Model], name: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}", args=args)


def run_action(http: HttpClient, model: type[Model], action: str, *rows: Model) -> str:
    """Run an action on rows of a list and return the page that follows."""
    response = http.post(
        get_admin_url(model, "changelist"),
        {"action": action, "_selected_action": [row.pk for row in rows]},
        follow=True,
    )
    assert response.status_code == 200
    return response.content.decode()
