"""The JSON of calls is text on PostgreSQL, so that it keeps its order. Both columns are written anew at once."""

from django.db import migrations

from core.database.ordered_json import OrderedJSONField


def store_text(apps, schema_editor):
    _change_type(schema_editor, "text")


def store_jsonb(apps, schema_editor):
    _change_type(schema_editor, "jsonb")


def _change_type(schema_editor, type):
    if schema_editor.connection.vendor == "postgresql":
        changes = ", ".join(f"ALTER COLUMN {name} TYPE {type} USING {name}::{type}" for name in ("sent", "envelope"))
        schema_editor.execute("SET LOCAL lock_timeout = '2s'")  # calls wait behind a statement that waits for the table
        schema_editor.execute(f"ALTER TABLE chat_toolcall {changes}")


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0009_files"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(store_text, store_jsonb)],
            state_operations=[
                migrations.AlterField(
                    model_name="toolcall",
                    name="sent",
                    field=OrderedJSONField(
                        blank=True, help_text="The body of a write, with its idempotency keys.", null=True
                    ),
                ),
                migrations.AlterField(
                    model_name="toolcall",
                    name="envelope",
                    field=OrderedJSONField(blank=True, help_text="The answer of the gateway.", null=True),
                ),
            ],
        ),
    ]
