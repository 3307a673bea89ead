"""Indexes that are added while the product runs."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import AddIndex
from django.db.migrations.state import ProjectState


class AddIndexOnline(AddIndexConcurrently):
    """Add an index to a large table. On PostgreSQL this does not block writes; its migration must not be atomic."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        self._get_operation(schema_editor).database_forwards(self, app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        self._get_operation(schema_editor).database_backwards(self, app_label, schema_editor, from_state, to_state)

    @staticmethod
    def _get_operation(schema_editor: BaseDatabaseSchemaEditor) -> Any:
        return AddIndexConcurrently if schema_editor.connection.vendor == "postgresql" else AddIndex
