"""Turns have leases as all work has.

The heartbeat stays for a version: processes of 0.1.0 write it, and mark only turns that have one.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0001_release_0_1_0")]

    operations = [
        migrations.RemoveIndex("message", "chat_message_running"),
        migrations.AlterField(
            "message",
            "heartbeat_at",
            models.DateTimeField(null=True, blank=True, help_text="While a process of 0.1.0 runs the turn."),
        ),
        migrations.AddField(
            "message",
            "holder",
            models.CharField(
                max_length=32, blank=True, default="", db_default="", editable=False, help_text="Who has the lease."
            ),
        ),
        migrations.AddField(
            "message",
            "held_until",
            models.DateTimeField(
                null=True, blank=True, editable=False, help_text="Until when nobody may claim it."
            ),
        ),
    ]
