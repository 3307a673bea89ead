"""Runs of eval cases have leases as all work has. One whose process died now ends."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("gateway", "0003_lease_batch_entries")]

    operations = [
        migrations.AddField(
            "modelrun",
            "holder",
            models.CharField(
                max_length=32, blank=True, default="", db_default="", editable=False, help_text="Who has the lease."
            ),
        ),
        migrations.AddField(
            "modelrun",
            "held_until",
            models.DateTimeField(
                null=True, blank=True, editable=False, help_text="Until when nobody may claim it."
            ),
        ),
    ]
