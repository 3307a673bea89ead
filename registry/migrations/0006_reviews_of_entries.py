"""Reviews and schedules are about entries, so several can be open; a release can be made of selected entries.

Processes of the version before insert rows without entries. Such a review or schedule counts as outdated.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("registry", "0005_lease_op_embeddings"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="reviewrequest",
            name="review_one_open",
        ),
        migrations.RemoveConstraint(
            model_name="scheduledpublish",
            name="scheduled_publish_one_waits",
        ),
        migrations.AddField(
            model_name="release",
            name="base",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="The live release that selected entries were put into.",
                max_length=64,
            ),
        ),
        migrations.AddField(
            model_name="release",
            name="selected_entries",
            field=models.JSONField(
                editable=False,
                help_text="These entries of the draft: [[kind, name]]. Null: the whole draft.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="reviewrequest",
            name="entries",
            field=models.JSONField(
                db_default=models.Value([], models.JSONField()),
                default=list,
                editable=False,
                help_text="[[kind, name, hash in the live release, hash in the draft]], with empty hashes for no entry.",
            ),
        ),
        migrations.AddField(
            model_name="scheduledpublish",
            name="entries",
            field=models.JSONField(
                db_default=models.Value([], models.JSONField()),
                default=list,
                editable=False,
                help_text="[[kind, name, hash in the live release, hash in the draft]], with empty hashes for no entry.",
            ),
        ),
        migrations.AlterField(
            model_name="reviewcomment",
            name="version",
            field=models.CharField(help_text="Hash of the release that the changes made at that time.", max_length=64),
        ),
        migrations.AlterField(
            model_name="reviewrequest",
            name="summary",
            field=models.CharField(help_text="What it was asked for.", max_length=200, verbose_name="changes"),
        ),
        migrations.AlterField(
            model_name="reviewrequest",
            name="version",
            field=models.CharField(help_text="Hash of the release that the changes would have made.", max_length=64),
        ),
        migrations.AlterField(
            model_name="scheduledpublish",
            name="summary",
            field=models.CharField(help_text="What it changes.", max_length=200, verbose_name="changes"),
        ),
        migrations.AlterField(
            model_name="scheduledpublish",
            name="version",
            field=models.CharField(help_text="Hash of the release that the changes made at the review.", max_length=64),
        ),
        migrations.AddIndex(
            model_name="reviewrequest",
            index=models.Index(condition=models.Q(("is_open", True)), fields=["asked_at"], name="review_open"),
        ),
        migrations.AddIndex(
            model_name="scheduledpublish",
            index=models.Index(
                condition=models.Q(("state", "waiting")), fields=["publish_at"], name="scheduled_publish_waits"
            ),
        ),
    ]
