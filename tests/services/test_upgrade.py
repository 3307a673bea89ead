"""Databases of earlier versions are upgraded with their rows. tools/dump_database wrote them when they were current."""

import gzip
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection
from django.test import Client as HttpClient
from django.urls import reverse
from pytest_django.plugin import DjangoDbBlocker

from analytics.reports.models import SavedView
from analytics.rollout.models import Cohort
from audit.models import AuditEntry
from gateway.models import ApiKey, PeriodicJob
from notifications.models import Notification
from registry.releases import stored_releases
from tests.support.servers import stores
from tests.support.servers.stores import Store

pytestmark = [pytest.mark.both_databases, pytest.mark.server]

CONSTRAINT = re.compile(r'CONSTRAINT "(\w+)"')
DUMPS = Path(__file__).parents[1] / "data" / "databases"
VERSIONS = sorted({path.name.rsplit(".", 3)[0] for path in DUMPS.glob("*.sql.gz")})


def read_dump(version: str) -> str:
    text = gzip.decompress((DUMPS / f"{version}.{connection.vendor}.sql.gz").read_bytes()).decode()
    # Commands to psql, and settings that only newer servers know.
    return "\n".join(line for line in text.splitlines() if not line.startswith(("\\", "SET transaction_timeout")))


@pytest.fixture(params=VERSIONS)
def upgraded(request: pytest.FixtureRequest, django_db_blocker: DjangoDbBlocker, tmp_path: Path) -> Iterator[Store]:
    """A database of an earlier version, upgraded to this one."""
    with django_db_blocker.unblock():
        store = stores.create_store(tmp_path)
        if connection.vendor == "sqlite":
            with closing(sqlite3.connect(store.name)) as database:
                database.executescript(read_dump(request.param))
        else:
            url = store.url.replace("postgres://", "postgresql://")
            with psycopg.connect(url, autocommit=True) as database:
                database.execute(read_dump(request.param))  # type: ignore[call-overload]
        with store.connected():
            call_command("migrate", verbosity=0)
            yield store
        stores.drop_store(store)


COLUMNS = {
    "sqlite": """
        SELECT t.name, c.name, c.type, c."notnull", c.pk FROM sqlite_master t, pragma_table_info(t.name) c
        WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
    """,
    "postgresql": """
        SELECT table_name, column_name, data_type, is_nullable, column_default LIKE 'nextval%'
        FROM information_schema.columns WHERE table_schema = 'public'
    """,
}
RULES = {  # names of constraints and indexes, with the definitions of the latter
    "sqlite": "SELECT tbl_name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL",
    "postgresql": """
        SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace
        UNION ALL SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'
    """,
}


def describe_tables() -> tuple[list[str], list[str]]:
    """Return the columns, constraints and indexes of all tables, a line each, in an order that no change affects."""
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS[connection.vendor])
        columns = sorted(map(str, cursor.fetchall()))
        cursor.execute(RULES[connection.vendor])
        rules = list(map(str, cursor.fetchall()))
        if connection.vendor == "sqlite":  # constraints are in the text of a table
            cursor.execute("SELECT tbl_name, sql FROM sqlite_master WHERE type = 'table'")
            rules += [f"{table} {name}" for table, sql in cursor.fetchall() for name in CONSTRAINT.findall(sql)]
    return columns, sorted(rules)


def test_upgraded_database_serves_its_old_rows(upgraded: Store, set_up_store: Store) -> None:
    check_upgraded_database_has_the_tables_of_a_new_one(set_up_store)
    check_upgraded_database_keeps_its_rows()
    check_upgraded_database_keeps_permissions()
    check_job_rows_have_names_of_this_version()
    check_old_addresses_of_moved_lists_redirect()


def check_upgraded_database_has_the_tables_of_a_new_one(set_up_store: Store) -> None:
    tables = describe_tables()
    upgraded_connection = connection.settings_dict["NAME"]
    with set_up_store.connected():
        new_tables = describe_tables()

    assert connection.settings_dict["NAME"] == upgraded_connection
    assert tables == new_tables
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)  # exits with 1 if a change has no migration


def check_upgraded_database_keeps_its_rows() -> None:
    assert AuditEntry.objects.get(by="ana").name == "pilot"
    assert Notification.objects.get(by="ana").subject == "Stopped"
    cohort = Cohort.objects.get(name="pilot")
    assert (cohort.percentage, cohort.rules.get().values) == (25, ["dev"])
    assert ApiKey.objects.filter(client__name="old-service").exists()
    assert SavedView.objects.get(name="By ana").page == "audit_auditentry_changelist"
    live = stored_releases.get_live_release()
    assert live is not None
    assert stored_releases.load_content(live)["ops"]
    assert {model._meta.db_table for model in apps.get_models()} <= set(connection.introspection.table_names())


def check_upgraded_database_keeps_permissions() -> None:
    user = User.objects.get(username="ana")

    expected = {"audit.view_auditentry", "notifications.view_notification"}
    assert {f"{each.content_type.app_label}.{each.codename}" for each in user.user_permissions.all()} == expected
    assert user.groups.get().permissions.filter(codename="view_auditentry").count() == 1
    assert not ContentType.objects.filter(app_label="analytics", model__in=["auditentry", "notification"]).exists()


def check_job_rows_have_names_of_this_version() -> None:
    assert not PeriodicJob.objects.filter(name__contains="analytics.").exists()


def check_old_addresses_of_moved_lists_redirect() -> None:
    browser = HttpClient()
    browser.force_login(User.objects.get(username="ana"))

    answer = browser.get("/admin/analytics/auditentry/?q=pilot", follow=True)

    assert answer.redirect_chain == [(reverse("admin:audit_auditentry_changelist") + "?q=pilot", 301)]
    assert answer.status_code == 200
    assert b"pilot" in answer.content
