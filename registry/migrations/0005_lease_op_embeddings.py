"""Texts that are sent for their vectors have leases as all work has.

The column of the claim stays, for processes of the version before (see 0002_lease_scheduled_publishes). A text that
both send gets the same vector from both.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0004_vocabulary")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("opembedding", "claimed_at", "held_until"),
                migrations.AlterField(
                    "opembedding",
                    "held_until",
                    models.DateTimeField(
                        null=True,
                        blank=True,
                        editable=False,
                        db_column="claimed_at",
                        help_text="Until when no other process sends the text.",
                    ),
                ),
            ]
        ),
        migrations.AddField(
            "opembedding",
            "holder",
            models.CharField(
                max_length=32, blank=True, default="", db_default="", editable=False, help_text="Who has the lease."
            ),
        ),
    ]
