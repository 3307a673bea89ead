from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('gateway', '0007_user_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='client',
            name='data_flow',
            field=models.CharField(blank=True, choices=[('off', 'off: nothing is checked'), ('shadow', 'shadow: the event of the call says which rule held'), ('enforce', 'enforce: the call is refused, or its user is asked')], db_default='', default='', help_text='What the rules of data flow do. Empty: as GATEWAY_DATA_FLOW says.', max_length=10, verbose_name='data flow'),
        ),
        migrations.AddField(
            model_name='client',
            name='data_flow_rules',
            field=models.TextField(blank=True, db_default='', default='', help_text='One a line, such as: after untrusted, ask before outbound. Empty: the rules of the gateway.', max_length=2000, verbose_name='rules of data flow'),
        ),
        migrations.CreateModel(
            name='TurnLabel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('turn', models.CharField(help_text='Hash of client, subject, session and turn.', max_length=32)),
                ('label', models.CharField(max_length=10)),
                ('connection', models.CharField(max_length=60)),
                ('op', models.CharField(help_text='The op of the call that brought it.', max_length=200)),
                ('trace_id', models.CharField(max_length=40)),
                ('brought_at', models.DateTimeField(db_index=True, help_text='The last time.')),
            ],
            options={
                'ordering': ['brought_at'],
                'constraints': [models.UniqueConstraint(fields=('turn', 'label', 'connection'), name='turn_label_once')],
            },
        ),
    ]
