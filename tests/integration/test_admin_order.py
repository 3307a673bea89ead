"""The admin in order: every model is there, can be searched, and lists its rows in few queries."""

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
from analytics.models import CohortRule
from tests.support.api import Api

pytestmark = pytest.mark.both_databases

OURS = [
    model
    for app in ("registry", "gateway", "analytics", "workspace")
    for model in apps.get_app_config(app).get_models()
    if model is not CohortRule  # edited on its cohort's page alone
]

# What only services write: nobody makes, changes or deletes these by hand.
OWNED_BY_SERVICES = ["Release", "Activation", "IdempotencyRecord", "OperationEvent", "Edge"]


def name_of(model: type[Model]) -> str:
    return model._meta.model_name or ""


@pytest.fixture
def staff(client: HttpClient, db: None) -> HttpClient:
    client.force_login(User.objects.create_superuser("root", password="x"))
    return client


@pytest.mark.parametrize("model", OURS, ids=name_of)
def test_model_is_listed_and_searchable(model: type[Model]) -> None:
    assert admin.site.is_registered(model)
    assert admin.site.get_model_admin(model).search_fields


@pytest.mark.parametrize("model", OURS, ids=name_of)
def test_changelist_asks_nothing_once_for_each_row(model: type[Model], staff: HttpClient, api: Api) -> None:
    for _ in range(3):  # rows of calls, too
        api.help("onto.task")
        api.exec(
            "onto.task.create",
            {"project_id": api.exec("onto.project.list")["result"]["projects"][0]["id"], "title": "x"},
        )
    event_log.flush()
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")

    with CaptureQueriesContext(
        connection,
    ) as captured:
        response = staff.get(url, {"q": "o"})

    assert response.status_code == 200
    repeated = Counter(query["sql"].partition("WHERE")[0] for query in captured.captured_queries)
    assert [sql for sql, count in repeated.items() if count > 3] == []


@pytest.mark.parametrize("name", OWNED_BY_SERVICES)
def test_rows_of_services_are_read_only(name: str, staff: HttpClient) -> None:
    model = next(model for model in OURS if model.__name__ == name)
    request = staff.get("/admin/").wsgi_request
    of_model = admin.site.get_model_admin(model)

    assert not of_model.has_add_permission(request)
    assert not of_model.has_change_permission(request)
    assert not of_model.has_delete_permission(request)
