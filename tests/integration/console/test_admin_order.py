"""Every model is in the console, can be searched, and lists its rows in few queries."""

from collections import Counter

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Model
from django.test import Client as HttpClient
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analytics.events import event_log
from analytics.rollout.models import CohortRule
from gateway.models import ConnectionSecret, SignIn
from registry.models import DocumentImport, ReviewComment, UpstreamDefinition
from tests.support.clients.api import Api

pytestmark = pytest.mark.both_databases

PROJECT_MODELS = [
    model
    for app in ("registry", "gateway", "analytics", "audit", "notifications", "workspace")
    for model in apps.get_app_config(app).get_models()
    # On the pages of their cohort, connection or review, or on none.
    if model not in (CohortRule, DocumentImport, UpstreamDefinition, ConnectionSecret, SignIn, ReviewComment)
]

# Models that only services write. Nobody adds, changes or deletes their rows by hand.
OWNED_BY_SERVICES = """
    Release Activation IdempotencyRecord UsedConfirmation OperationEvent Edge StoredFile SignedInApplication
""".split()


def get_model_name(model: type[Model]) -> str:
    return model._meta.model_name or ""


@pytest.fixture
def superuser_client(client: HttpClient, db: None) -> HttpClient:
    client.force_login(User.objects.create_superuser("root", password="x"))
    return client


@pytest.mark.parametrize("model", PROJECT_MODELS, ids=get_model_name)
def test_model_is_listed_and_searchable(model: type[Model]) -> None:
    assert admin.site.is_registered(model)
    assert admin.site.get_model_admin(model).search_fields


@pytest.mark.parametrize("model", PROJECT_MODELS, ids=get_model_name)
def test_changelist_has_no_query_per_row(model: type[Model], superuser_client: HttpClient, api: Api) -> None:
    for _ in range(3):  # also creates rows of calls
        api.help("onto.task")
        api.exec(
            "onto.task.create",
            {"project_id": api.exec("onto.project.list")["result"]["projects"][0]["id"], "title": "x"},
        )
    event_log.flush()
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")

    with CaptureQueriesContext(
        connection,
    ) as queries:
        response = superuser_client.get(url, {"q": "o"})

    assert response.status_code == 200
    statements = Counter(query["sql"].partition("WHERE")[0] for query in queries.captured_queries)
    assert [sql for sql, count in statements.items() if count > 3] == []


@pytest.mark.parametrize("name", OWNED_BY_SERVICES)
def test_models_owned_by_services_are_read_only(name: str, superuser_client: HttpClient) -> None:
    model = next(model for model in PROJECT_MODELS if model.__name__ == name)
    request = superuser_client.get("/admin/").wsgi_request
    model_admin = admin.site.get_model_admin(model)

    assert not model_admin.has_add_permission(request)
    assert not model_admin.has_change_permission(request)
    assert not model_admin.has_delete_permission(request)
