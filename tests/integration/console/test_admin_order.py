"""Every model is in the console, can be searched, and lists its rows in few queries."""

from collections import Counter

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client as HttpClient
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from analytics.events import event_log
from tests.support.clients.api import Api
from tests.support.console.admin_models import MODELS, PROJECT_APPS

pytestmark = pytest.mark.both_databases

PROJECT_MODELS = [model for model in MODELS if model._meta.app_label in PROJECT_APPS]


def test_every_model_is_searchable() -> None:
    for model in PROJECT_MODELS:
        assert admin.site.get_model_admin(model).search_fields, model


def test_changelists_have_no_query_per_row(api: Api, admin_client: HttpClient) -> None:
    project_id = api.exec("onto.project.list")["result"]["projects"][0]["id"]
    for _ in range(3):  # also creates rows of calls
        api.help("onto.task")
        api.exec("onto.task.create", {"project_id": project_id, "title": "x"})
    event_log.flush()

    for model in PROJECT_MODELS:
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        with CaptureQueriesContext(connection) as queries:
            response = admin_client.get(url, {"q": "o"})

        assert response.status_code == 200, model
        statements = Counter(query["sql"].partition("WHERE")[0] for query in queries.captured_queries)
        assert [sql for sql, count in statements.items() if count > 3] == [], model
