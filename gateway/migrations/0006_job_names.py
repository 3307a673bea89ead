"""Forget when the periodic jobs run next: their functions have new names. The next poll adds a row for each job."""

from typing import Any

from django.db import migrations


def _delete_rows(apps: Any, schema_editor: Any) -> None:
    apps.get_model("gateway", "PeriodicJob").objects.all().delete()


class Migration(migrations.Migration):
    dependencies = [("gateway", "0005_plain_texts")]

    operations = [migrations.RunPython(_delete_rows, migrations.RunPython.noop)]
