"""The table of the app, which databases of earlier versions have from analytics."""

import uuid
from django.db import migrations, models

from core.database.moved_models import AdoptModel, move_content_type


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('contenttypes', '0002_remove_content_type_name'),
    ]

    operations = [
        AdoptModel(
            name='Notification',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('channel', models.CharField(choices=[('email', 'e-mail'), ('webhook', 'webhook')], max_length=10)),
                ('recipient', models.CharField(blank=True, help_text='E-mail address; empty for the webhook.', max_length=254)),
                ('event', models.CharField(help_text='What happened, such as review.asked.', max_length=40)),
                ('subject', models.CharField(max_length=200)),
                ('text', models.TextField()),
                ('link', models.CharField(blank=True, help_text='The page to open.', max_length=500)),
                ('by', models.CharField(max_length=150)),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('sent', 'sent'), ('failed', 'failed')], default='waiting', max_length=10)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('next_try_at', models.DateTimeField()),
                ('last_error', models.CharField(blank=True, max_length=200)),
                ('created_at', models.DateTimeField()),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'db_table': 'analytics_notification',
                'ordering': ['-created_at', 'id'],
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['next_try_at'], name='notification_due')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('sent_at', None), ('state__in', ['waiting', 'failed'])), models.Q(('sent_at__isnull', False), ('state', 'sent')), _connector='OR'), name='notification_sent_has_time'), models.CheckConstraint(condition=models.Q(models.Q(('channel', 'email'), models.Q(('recipient', ''), _negated=True)), models.Q(('channel', 'webhook'), ('recipient', '')), _connector='OR'), name='notification_email_has_recipient')],
            },
        ),
        move_content_type('analytics', 'notifications', 'notification'),
    ]
