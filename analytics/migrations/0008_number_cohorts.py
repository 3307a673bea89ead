"""Give the cohorts of each flag different positions, in the order in which they are evaluated."""

from typing import Any

from django.db import migrations


def number_cohorts(apps: Any, schema_editor: Any) -> None:
    cohort = apps.get_model("analytics", "Cohort")
    for flag in apps.get_model("analytics", "Flag").objects.all():
        for position, row in enumerate(cohort.objects.filter(flag=flag).order_by("position", "id")):
            cohort.objects.filter(pk=row.pk).update(position=position)


class Migration(migrations.Migration):
    dependencies = [("analytics", "0007_audit_eval_cases")]

    operations = [migrations.RunPython(number_cohorts, migrations.RunPython.noop)]
