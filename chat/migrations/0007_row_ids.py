from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chat', '0006_sent_calls'),
    ]

    operations = [
        migrations.AddField(
            model_name='conversation',
            name='row_ids',
            field=models.JSONField(blank=True, db_default=models.Value([], models.JSONField()), default=list, help_text='Of rows that the model knows by short handles: the first is #t1.'),
        ),
    ]
