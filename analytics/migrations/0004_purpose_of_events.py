from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("analytics", "0003_stored_contents")]

    operations = [
        migrations.AddField(
            model_name="operationevent",
            name="purpose",
            field=models.CharField(
                blank=True, choices=[("context", "context")], db_default="", default="", max_length=10
            ),
        ),
    ]
