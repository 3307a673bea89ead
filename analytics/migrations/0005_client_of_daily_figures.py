"""Daily figures count each client apart. Existing days keep an empty client."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analytics", "0004_purpose_of_events")]

    operations = [
        migrations.AddField(
            model_name="opdaily",
            name="client",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Empty on days before clients were counted.",
                max_length=100,
            ),
        ),
        migrations.RemoveConstraint(model_name="opdaily", name="op_daily_once"),
        migrations.AddConstraint(
            model_name="opdaily",
            constraint=models.UniqueConstraint(
                fields=("day", "op", "release", "surface", "cohort", "model", "client", "is_settled"),
                name="op_daily_once",
            ),
        ),
    ]
