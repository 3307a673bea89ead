"""Imports have leases as all work has.

`updated_at` stays the sign of life of processes of the version before. Such a process may end an import of a new one
after a minute, for want of that sign: the import goes on, and stores its own end.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("registry", "0002_lease_scheduled_publishes")]

    operations = [
        migrations.AddField(
            "documentimport",
            "holder",
            models.CharField(
                max_length=32, blank=True, default="", db_default="", editable=False, help_text="Who has the lease."
            ),
        ),
        migrations.AddField(
            "documentimport",
            "held_until",
            models.DateTimeField(
                null=True, blank=True, editable=False, help_text="Until when nobody may claim it."
            ),
        ),
    ]
