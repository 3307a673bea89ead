import registry.flow_labels
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0008_more_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='connection',
            name='flow_labels',
            field=models.JSONField(blank=True, db_default=[], default=list, help_text='Labels of all its ops: untrusted and private count for reads, outbound for writes.', validators=[registry.flow_labels.validate_flow_labels], verbose_name='data flow'),
        ),
        migrations.AddField(
            model_name='op',
            name='flow_labels',
            field=models.JSONField(blank=True, db_default=[], default=list, help_text='What its data is. The labels of its connection count as well.', validators=[registry.flow_labels.validate_flow_labels], verbose_name='data flow'),
        ),
    ]
