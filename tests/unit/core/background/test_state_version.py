"""The state version changes with each committed change of what processes keep in memory, and with nothing else."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analytics.flags import FlagKey
from analytics.rollout.models import Cohort
from core import manifest
from core.background import state_version
from core.manifest import Manifest, WatchedModel
from gateway.access import api_keys, key_verification
from gateway.models import ApiKey, Client
from registry.catalog import cache
from registry.models import Connection, Switch
from tests.support.concurrency import run_at_once

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db(transaction=True)]

SWITCH: dict[str, Any] = {
    "kind": "op",
    "name": "a.b",
    "is_off": True,
    "reason": "Broken",
    "changed_by": "ana",
    "changed_at": timezone.now(),
}
TABLES = re.compile(r'(?:FROM|JOIN) "(\w+)"')


@pytest.fixture(autouse=True)
def _close_connection() -> Iterator[None]:
    yield
    connection.close()


def create_key() -> ApiKey:
    client, _ = Client.objects.get_or_create(name="chat")
    return api_keys.issue(client=client, by="tests")[0]


def create_switch() -> Switch:
    return Switch.objects.create(**SWITCH)


@pytest.mark.parametrize(
    "change",
    [
        lambda: Switch.objects.create(**SWITCH | {"name": "c.d"}),
        lambda: Switch.objects.update(is_off=False),
        lambda: Switch.objects.all().delete(),
        lambda: ApiKey.objects.update(revoked_at=timezone.now()),
        lambda: ApiKey.objects.get().save(),
        lambda: ApiKey.objects.update(last_used_at=timezone.now(), revoked_at=timezone.now()),
        lambda: Client.objects.update(is_active=False),
        lambda: Client.objects.all().delete(),
        lambda: Connection.objects.bulk_create([Connection(name="one"), Connection(name="two")]),
        lambda: Cohort.objects.create(name="new", flag_id=FlagKey.SURFACE, variant="gateway"),
    ],
)
def test_change_of_a_watched_row_changes_the_version(change: Callable[[], object]) -> None:
    create_key()
    create_switch()
    before = state_version.read()

    change()

    assert state_version.read() != before


@pytest.mark.parametrize(
    "change",
    [
        lambda: ApiKey.objects.update(last_used_at=timezone.now()),
        lambda: apps.get_model("gateway.Batch").objects.all().delete(),
        lambda: apps.get_model("gateway.PeriodicJob").objects.create(name="a", held_until=timezone.now()),
        lambda: ApiKey.objects.filter(pk=0).update(rate=7),
    ],
)
def test_other_changes_leave_the_version(change: Callable[[], object]) -> None:
    create_key()
    before = state_version.read()

    change()

    assert state_version.read() == before


def test_refreshed_functions_read_only_watched_tables() -> None:
    cache.clear_cache()
    watched = {apps.get_model(each.model)._meta.db_table for each in manifest.get().watched}
    key_verification.verify(api_keys.issue(client=Client.objects.create(name="chat"), by="tests")[1])

    with CaptureQueriesContext(connection) as queries:
        for function in manifest.get().refreshed:
            function()

    tables = {table for query in queries for table in TABLES.findall(query["sql"])}
    assert {"gateway_apikey", "registry_switch", "analytics_cohort"} <= tables <= watched


def test_uncommitted_change_is_seen_when_it_is_committed() -> None:
    before = state_version.read()

    def read_elsewhere() -> int:
        return run_at_once([state_version.read])[0]

    with transaction.atomic():
        create_switch()
        during = read_elsewhere()

    assert during == before
    assert read_elsewhere() != before


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="by design: SQLite has one writer")
def test_long_transaction_holds_up_no_other_and_its_commit_is_seen() -> None:
    key = create_key()
    with transaction.atomic():
        create_switch()
        run_at_once([lambda: ApiKey.objects.filter(pk=key.pk).update(revoked_at=timezone.now())])
        between = run_at_once([state_version.read])[0]

    assert state_version.read() != between


def test_rolled_back_change_leaves_the_version() -> None:
    before = state_version.read()

    with transaction.atomic():
        create_switch()
        transaction.set_rollback(True)

    assert state_version.read() == before


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="by design: SQLite has no search path")
def test_change_by_pg_restore_changes_the_version() -> None:
    create_switch()
    before = state_version.read()

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL search_path = ''")
        cursor.execute("UPDATE public.registry_switch SET is_off = false")

    assert state_version.read() != before


def list_triggers() -> set[str]:
    return set(state_version._find_triggers(connection))


def test_install_adds_what_is_missing_and_removes_what_is_not_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    before = list_triggers()
    name, table = next((name, table) for name, table in state_version._find_triggers(connection).items())
    state_version._drop_trigger(name, table, connection)

    state_version.install(using="default")
    restored = list_triggers()
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "_collected", Manifest(watched=[WatchedModel("registry.Switch", ignored=["reason"])]))
        state_version.install(using="default")
        version = state_version.read()
        create_switch()
        changed = state_version.read()
        Switch.objects.update(reason="Another")
        ignored = state_version.read()
    state_version.install(using="default")

    assert restored == before == list_triggers()
    assert version != changed == ignored


def test_install_sends_no_statement_if_all_is_there() -> None:
    with CaptureQueriesContext(connection) as queries:
        state_version.install(using="default")

    assert not [query for query in queries if not query["sql"].lstrip().upper().startswith(("SELECT", "PRAGMA"))]


def test_there_is_no_version_without_its_row_until_migrations_have_run() -> None:
    before = state_version.read()
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {state_version.TABLE}")  # noqa: S608 - no value is in the text
    without = state_version.read()

    state_version.install(using="default")

    assert without is None
    assert state_version.read() not in (None, before)


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="by design: PostgreSQL keeps them, and CASCADE drops them")
def test_triggers_and_version_are_dropped_before_migrations_only() -> None:
    before: Any = list_triggers()

    state_version.remove_before_migrations(using="default", plan=[])
    kept = list_triggers()
    state_version.remove_before_migrations(using="default", plan=["a migration"])
    dropped, version = list_triggers(), state_version.read()
    state_version.install(using="default")

    assert (kept, dropped, version, list_triggers()) == (before, set(), None, before)
