"""Pages of rows that the roll-up updates have room: PostgreSQL then writes them without new entries in their indexes.

It is the share of a page that inserts fill, in percent. A quarter of the turns of a minute go on in the next one.
Daily figures need none: all of their rows change each minute, so their pages get room by themselves.
"""

from django.db import migrations

FILL_FACTORS = {"analytics_turn": 70, "analytics_subjectfigures": 80}


def leave_room(apps, schema_editor):
    for table, percent in FILL_FACTORS.items():
        _change(schema_editor, table, f"SET (fillfactor = {percent})")


def leave_no_room(apps, schema_editor):
    for table in FILL_FACTORS:
        _change(schema_editor, table, "RESET (fillfactor)")


def _change(schema_editor, table, change):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"ALTER TABLE {table} {change}")


class Migration(migrations.Migration):
    dependencies = [("analytics", "0012_repairs_without_an_index")]

    operations = [migrations.RunPython(leave_room, leave_no_room)]
