"""Questions of services to end users, and the progress of running entries of batches."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("gateway", "0005_lease_periodic_jobs"),
    ]

    operations = [
        migrations.AddField(
            model_name="batchentry",
            name="progress",
            field=models.JSONField(blank=True, help_text="What its upstream reported while it runs.", null=True),
        ),
        migrations.CreateModel(
            name="PendingInput",
            fields=[
                (
                    "digest",
                    models.CharField(
                        help_text="SHA-256 of the token.", max_length=64, primary_key=True, serialize=False
                    ),
                ),
                ("subject", models.CharField(blank=True, max_length=200)),
                ("op", models.CharField(max_length=200)),
                ("trace_id", models.CharField(max_length=40)),
                (
                    "state",
                    models.TextField(editable=False, help_text="Encrypted: the call, its questions, answers so far."),
                ),
                (
                    "batch_entry",
                    models.BigIntegerField(blank=True, help_text="The entry of a batch that asked.", null=True),
                ),
                (
                    "waiting_call",
                    models.CharField(
                        blank=True,
                        db_index=True,
                        help_text="SHA-256 of the id of the call that waits in a process.",
                        max_length=64,
                    ),
                ),
                (
                    "answer",
                    models.TextField(blank=True, editable=False, help_text="Encrypted: an answer for that process."),
                ),
                (
                    "outcome",
                    models.TextField(blank=True, editable=False, help_text="Encrypted: how the call ended there."),
                ),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(db_index=True)),
                ("answered_at", models.DateTimeField(blank=True, null=True)),
                ("client", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="gateway.client")),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
    ]
