from django.db import migrations, models

import registry.models.fields


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0007_result_row'),
    ]

    operations = [
        migrations.AddField(
            model_name='connection',
            name='more_keys',
            field=models.JSONField(blank=True, db_default={}, default=dict, help_text='Keys that the service asks for besides, and where each is sent: header, query or cookie. Such as {"X-App-Id": "header"}. Enter their values below, after you have saved.', validators=[registry.models.fields.validate_more_keys], verbose_name='more API keys'),
        ),
    ]
