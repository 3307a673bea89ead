from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('analytics', '0009_overridden_steps'),
    ]

    operations = [
        migrations.AddField(
            model_name='operationevent',
            name='data_flow',
            field=models.CharField(blank=True, db_default='', default='', max_length=100),
        ),
        migrations.AddIndex(
            model_name='operationevent',
            index=models.Index(condition=models.Q(('data_flow', ''), _negated=True), fields=['-time', '-id'], name='event_of_data_flow'),
        ),
    ]
