"""Periodic jobs have leases as all work has. The column of the next run stays: it means the same to every version."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("gateway", "0004_lease_model_runs")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("periodicjob", "next_run", "held_until"),
                migrations.AlterField(
                    "periodicjob", "held_until", models.DateTimeField("next run", db_column="next_run")
                ),
            ]
        ),
        migrations.AddField(
            "periodicjob",
            "holder",
            models.CharField(
                max_length=32, blank=True, default="", db_default="", editable=False, help_text="Who has the lease."
            ),
        ),
    ]
