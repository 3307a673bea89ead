"""The state version: one number that changes whenever a row changes that processes keep in memory.

Processes read it twice a second, and their rows only when it has changed (core/background/poller.py). Triggers change
it, in the transaction of the change: so no writer can forget it, whether it is another version of this software, a bulk
update or a person at the database's prompt.

On PostgreSQL the triggers wait for the commit, so that two long transactions do not wait for each other, and the number
is that of the transaction. SQLite has one writer, and counts.

The triggers are installed after each `migrate`, because SQLite loses those of a table that a migration builds again.
While they are missing, there is no number, and processes read their rows at each poll.
"""

import hashlib
import time
from collections.abc import Iterator

from django.apps import apps
from django.db import connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from core import manifest
from core.manifest import WatchedModel

TABLE = "core_state_version"
PREFIX = "core_state_version_"  # of triggers
_SELECT = f"SELECT number FROM {TABLE}"  # noqa: S608 - no value is in the text
# pg_restore has an empty search path, also when it only adds rows to tables that have triggers.
_FUNCTION = f"""
CREATE OR REPLACE FUNCTION core_change_state_version() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE {TABLE} SET number = txid_current() WHERE number <> txid_current();
    RETURN NULL;
END $$
"""  # noqa: S608 - no value is in the text


def read() -> int | None:
    """Return the number, or None while triggers are missing. Takes one query."""
    with connection.cursor() as cursor:
        cursor.execute(_SELECT)
        row = cursor.fetchone()
    return None if row is None else int(row[0])


def install(*, using: str, **_: object) -> None:
    """Create the table and the triggers that are missing. A receiver of `post_migrate`.

    What exists is left alone: PostgreSQL would wait for everyone who reads the table, such as a backup.
    """
    database = connections[using]
    tables = set(database.introspection.table_names())
    watched = [each for each in manifest.get().watched if apps.get_model(each.model)._meta.db_table in tables]
    statements = dict(statement for each in watched for statement in _build_triggers(each, database))
    existing = _find_triggers(database)
    with database.cursor() as cursor:
        if TABLE not in tables:
            cursor.execute(f"CREATE TABLE {TABLE} (number bigint NOT NULL)")
        missing = statements.keys() - existing.keys()
        if missing and database.vendor == "postgresql":
            cursor.execute(_FUNCTION)
        for name in sorted(missing):
            cursor.execute(statements[name])
        for name in existing.keys() - statements.keys():  # afterwards, so that no change is missed meanwhile
            _drop_trigger(name, existing[name], database)
        cursor.execute(_SELECT)
        if cursor.fetchone() is None:  # the time, since a process may remember an earlier number
            cursor.execute(f"INSERT INTO {TABLE} VALUES (%s)", [int(time.time())])  # noqa: S608 - the name is ours


def remove_before_migrations(*, using: str, plan: list[object], **_: object) -> None:
    """Drop the triggers if migrations will run. A receiver of `pre_migrate`.

    SQLite refuses to drop a column that a trigger names. The number is removed with them, so that processes see every
    change also if a migration fails and `install` is not called.
    """
    database = connections[using]
    if plan and database.vendor == "sqlite" and (triggers := _find_triggers(database)):
        with transaction.atomic(using=using), database.cursor() as cursor:
            cursor.execute(f"DELETE FROM {TABLE}")  # noqa: S608 - no value is in the text
            for name, table in triggers.items():
                _drop_trigger(name, table, database)


def _build_triggers(watched: WatchedModel, database: BaseDatabaseWrapper) -> Iterator[tuple[str, str]]:
    """Yield the name and the statement of each trigger. A statement that changes has another name."""
    model = apps.get_model(watched.model)
    quote = database.ops.quote_name
    table = quote(model._meta.db_table)
    columns = [quote(each.column) for each in model._meta.concrete_fields if each.name not in watched.ignored]
    update = f"UPDATE OF {', '.join(columns)}" if watched.ignored else "UPDATE"
    if database.vendor == "postgresql":
        events = {"change": f"INSERT OR DELETE OR {update}"}
        kind = "CONSTRAINT TRIGGER"
        action = "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION core_change_state_version()"
    else:
        events = {"insert": "INSERT", "update": update, "delete": "DELETE"}
        kind = "TRIGGER"
        action = f"BEGIN UPDATE {TABLE} SET number = number + 1; END"  # noqa: S608 - no value is in the text
    for event, when in events.items():
        body = f"AFTER {when} ON {table} {action}"
        name = f"{PREFIX}{event}_{hashlib.sha256(f'{body} {_FUNCTION}'.encode()).hexdigest()[:12]}"
        yield name, f"CREATE {kind} {name} {body}"


def _find_triggers(database: BaseDatabaseWrapper) -> dict[str, str]:
    """Return the table of each of our triggers by its name."""
    sql = {
        "postgresql": (
            "SELECT tgname, relname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid"
            " WHERE pg_table_is_visible(pg_class.oid) AND starts_with(tgname, %s)"
        ),
        "sqlite": "SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger' AND name LIKE %s || '%%'",
    }
    with database.cursor() as cursor:
        cursor.execute(sql[database.vendor], [PREFIX])
        return dict(cursor.fetchall())


def _drop_trigger(name: str, table: str, database: BaseDatabaseWrapper) -> None:
    on_table = f" ON {database.ops.quote_name(table)}" if database.vendor == "postgresql" else ""
    with database.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {name}{on_table}")
