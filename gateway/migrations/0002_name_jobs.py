"""Periodic jobs have names. Rows by the path of a function go: each job runs once at the first poll, as in a new database."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def delete_rows(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    apps.get_model("gateway", "PeriodicJob").objects.using(schema_editor.connection.alias).all().delete()


class Migration(migrations.Migration):
    dependencies = [("gateway", "0001_release_0_1_0")]

    operations = [migrations.RunPython(delete_rows, migrations.RunPython.noop)]
