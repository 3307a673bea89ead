from django.db import migrations, models

import registry.models.fields


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0006_reviews_of_entries'),
    ]

    operations = [
        migrations.AddField(
            model_name='op',
            name='result_row',
            field=models.JSONField(blank=True, db_default={}, default=dict, help_text='Where an answer has its row: {"id": "order.id", "name": "order.title"}. Empty: it is looked for.', validators=[registry.models.fields.validate_text_map], verbose_name='answer row'),
        ),
    ]
