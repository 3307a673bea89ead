"""`repairs` has no index, and pages of events have room: PostgreSQL then writes it without new entries in all indexes."""

from django.db import migrations


def leave_room(apps, schema_editor):
    _set_fill_factor(schema_editor, "SET (fillfactor = 90)")


def leave_no_room(apps, schema_editor):
    _set_fill_factor(schema_editor, "RESET (fillfactor)")


def _set_fill_factor(schema_editor, change):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"ALTER TABLE analytics_operationevent {change}")


class Migration(migrations.Migration):
    dependencies = [("analytics", "0011_figures_in_sql")]

    operations = [
        migrations.RemoveIndex(model_name="operationevent", name="event_by_repaired_call"),
        migrations.RunPython(leave_room, leave_no_room),
    ]
