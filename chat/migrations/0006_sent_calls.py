from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0005_zone'),
    ]

    operations = [
        migrations.AddField(
            model_name='toolcall',
            name='sent',
            field=models.JSONField(blank=True, help_text='The body of a write, with its idempotency keys.', null=True),
        ),
    ]
