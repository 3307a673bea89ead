"""Scheduled publishes have leases as all work has.

The column of the claim stays, for processes of the version before: one that sees the end of a lease there takes it for
the time of a claim, and leaves the row alone for longer. A publish that both work on is done once.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0001_release_0_1_0")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("scheduledpublish", "claimed_at", "held_until"),
                migrations.AlterField(
                    "scheduledpublish",
                    "held_until",
                    models.DateTimeField(null=True, blank=True, editable=False, db_column="claimed_at"),
                ),
            ]
        ),
        migrations.AddField(
            "scheduledpublish",
            "holder",
            models.CharField(
                max_length=32, blank=True, default="", db_default="", editable=False, help_text="Who has the lease."
            ),
        ),
    ]
