from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0008_reasoning"),
    ]

    operations = [
        migrations.AddField(
            model_name="message",
            name="files",
            field=models.JSONField(
                blank=True,
                db_default=models.Value([], models.JSONField()),
                default=list,
                help_text="That the user attached: [{id, name, content_type, size}]. The gateway has their contents.",
            ),
        ),
    ]
