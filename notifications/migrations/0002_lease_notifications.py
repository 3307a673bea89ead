"""Notifications have leases as all work has. The column of the next try stays, for processes of the version before."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("notifications", "0001_release_0_1_0")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex("notification", "notification_due"),
                migrations.RenameField("notification", "next_try_at", "held_until"),
                migrations.AlterField(
                    "notification", "held_until", models.DateTimeField("next try at", db_column="next_try_at")
                ),
                migrations.AddIndex(
                    "notification",
                    models.Index(fields=["held_until"], condition=Q(state="waiting"), name="notification_due"),
                ),
            ]
        ),
        migrations.AddField(
            "notification",
            "holder",
            models.CharField(
                max_length=32, blank=True, default="", db_default="", editable=False, help_text="Who has the lease."
            ),
        ),
    ]
