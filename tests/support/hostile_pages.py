"""Odd input for pages of the admin, and what must come of it."""

from django.apps import apps
from django.db import connection
from django.http import HttpResponse

BIG = "9" * 30  # more than any database's integer


ODD_PATHS = [
    *("abc", "_00", "zz_00", BIG, "-1", "%C3%A9", "_2F_2F", "{}", "%27"),
    "0d9a4c1e-5b7f-4e2a-9c31-ffffffffffff",
]


def stored() -> dict[str, list[str]]:
    """Every row of ours as text, by its table; not sessions or the admin's own log."""
    configs = [apps.get_app_config(app) for app in ("analytics", "gateway", "registry", "workspace")]
    tables = [model._meta.db_table for each in configs for model in each.get_models(include_auto_created=True)]
    found = {}
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608 - our own
            found[table] = sorted(map(repr, cursor.fetchall()))
    return found


def answered(response: HttpResponse, *statuses: int) -> HttpResponse:
    """Check that a response is one of these, and that a refusal is a sentence."""
    assert response.status_code in statuses, (response.status_code, response.content[:300])
    if response.status_code == 400:
        assert response.content.decode().endswith(".")
    return response
