"""Migrations of a model that has moved to another app: the table, its rows and the permissions on it stay."""

from typing import Any

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


class AdoptModel(migrations.CreateModel):
    """Create a model and its table, or only the model if its former app has created the table."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        table = to_state.apps.get_model(app_label, self.name)._meta.db_table
        if table not in schema_editor.connection.introspection.table_names():
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"Create model {self.name}, or adopt its table"


def move_content_type(old_app: str, new_app: str, model: str) -> migrations.RunPython:
    """Return an operation that moves a model's content type, and with it the permissions that groups and users have."""

    def move(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        content_types = apps.get_model("contenttypes", "ContentType").objects.using(schema_editor.connection.alias)
        if not content_types.filter(app_label=new_app, model=model).exists():
            content_types.filter(app_label=old_app, model=model).update(app_label=new_app)

    return migrations.RunPython(move, migrations.RunPython.noop)
