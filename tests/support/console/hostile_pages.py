"""Odd input for admin pages, and checks of the result."""

from collections.abc import Sequence
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import Model
from django.http import HttpResponse

from audit.models import AuditEntry
from tests.support.console.admin_models import MODELS
from tests.support.cpu_budget import is_thorough

BIG = "9" * 30  # exceeds the integers of every database
ODD_PATHS = ["abc", "_00", "zz_00", BIG, "-1", "%C3%A9", "_2F_2F", "{}", "%27", "0d9a4c1e-5b7f-4e2a-9c31-ffffffffffff"]


def choose_in_turn(cases: Sequence[Any], count: int, number: int) -> Sequence[Any]:
    """Return some of the cases, others for the next number. In a thorough run return all of them."""
    if is_thorough():
        return cases
    return [cases[(number * count + offset) % len(cases)] for offset in range(min(count, len(cases)))]


def choose_models() -> list[type[Model]]:
    """Return all models on SQLite or in a thorough run, else some that have fields of every type.

    Databases differ in how they take odd values of a type. All else about a page is the same on both.
    """
    return MODELS if connection.vendor == "sqlite" or is_thorough() else _choose_models_with_every_field_type()


def _choose_models_with_every_field_type() -> list[type[Model]]:
    """Return a few models that together have fields of every type."""
    chosen, types = [], set[type]()
    for model in sorted(MODELS, key=lambda model: -len(_field_types(model))):
        if not _field_types(model) <= types:
            chosen.append(model)
            types |= _field_types(model)
    return chosen


def _field_types(model: type[Model]) -> set[type]:
    return {type(field) for field in (*model._meta.fields, *model._meta.many_to_many)}


def dump_rows() -> dict[str, list[str]]:
    """Return the rows of all project tables as text, by table, without sessions and the admin log.

    Also without entries about exports: a link downloads a file, and who did is in the audit log.
    """
    configs = [
        apps.get_app_config(app) for app in ("analytics", "audit", "gateway", "notifications", "registry", "workspace")
    ]
    tables = [model._meta.db_table for each in configs for model in each.get_models(include_auto_created=True)]
    rows_by_table = {}
    with connection.cursor() as cursor:
        for table in tables:
            condition = "WHERE action <> 'exported'" if table == AuditEntry._meta.db_table else ""
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)} {condition}")  # noqa: S608 - our tables
            rows_by_table[table] = sorted(map(repr, cursor.fetchall()))
    return rows_by_table


def assert_status(response: HttpResponse, *statuses: int) -> HttpResponse:
    """Check that the status is one of these, and that the body of a 400 ends like a sentence."""
    assert response.status_code in statuses, (response.status_code, response.content[:300])
    if response.status_code == 400:
        assert response.content.decode().endswith(".")
    return response
