"""Indexes that are added while the product runs."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import AddIndex
from django.db.migrations.state import ProjectState

from core.wait_limit import limit_waits

MAX_SECONDS = 24 * 3_600  # of building an index, which waits for older transactions, too


class AddIndexOnline(AddIndexConcurrently):
    """Add an index to a large table. On PostgreSQL this does not block writes; its migration must not be atomic."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        with _without_time_limit(schema_editor):
            if schema_editor.connection.vendor == "postgresql":  # a build that was cut off leaves an invalid index
                schema_editor.execute(f'DROP INDEX CONCURRENTLY IF EXISTS "{self.index.name}"')
            self._get_operation(schema_editor).database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        self._get_operation(schema_editor).database_backwards(self, app_label, schema_editor, from_state, to_state)

    @staticmethod
    def _get_operation(schema_editor: BaseDatabaseSchemaEditor) -> Any:
        return AddIndexConcurrently if schema_editor.connection.vendor == "postgresql" else AddIndex


@contextmanager
def _without_time_limit(schema_editor: BaseDatabaseSchemaEditor) -> Iterator[None]:
    """Lift the limits of the server's statements and of the client's waits, which are made for calls."""
    if schema_editor.connection.vendor != "postgresql":
        yield
        return
    with limit_waits(time.monotonic() + MAX_SECONDS):
        schema_editor.execute("SET statement_timeout = 0")
        try:
            yield
        finally:
            schema_editor.execute("RESET statement_timeout")
