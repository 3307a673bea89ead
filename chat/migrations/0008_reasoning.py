from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0007_row_ids"),
    ]

    operations = [
        migrations.AddField(
            model_name="message",
            name="reasoning",
            field=models.TextField(
                blank=True, db_default="", default="", help_text="What the model thought. Never sent to it again."
            ),
        ),
    ]
