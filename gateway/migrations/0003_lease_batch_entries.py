"""The runner of a batch entry is the holder of its lease, as of all work. Nothing changes in the database."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("gateway", "0002_name_jobs")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint("batchentry", "batch_entry_running_is_held"),
                migrations.RenameField("batchentry", "runner", "holder"),
                migrations.AlterField(
                    "batchentry",
                    "holder",
                    models.CharField(
                        "runner",
                        max_length=32,
                        blank=True,
                        db_column="runner",
                        help_text="The runner that holds the lease.",
                    ),
                ),
                migrations.AddConstraint(
                    "batchentry",
                    models.CheckConstraint(
                        condition=~Q(state="running") | (~Q(holder="") & Q(held_until__isnull=False)),
                        name="batch_entry_running_is_held",
                    ),
                ),
            ]
        )
    ]
