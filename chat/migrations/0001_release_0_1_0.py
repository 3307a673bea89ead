"""The tables of 0.1.0. Databases of earlier versions have them; the history of migrations begins here."""

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('chat', '0001_initial'),
        ('chat', '0002_profile_subject_in_header'),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Conversation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('subject', models.CharField(max_length=200)),
                ('title', models.CharField(blank=True, max_length=60)),
                ('title_by', models.CharField(choices=[('message', 'the first message'), ('model', 'the model'), ('person', 'the user')], default='message', max_length=10)),
                ('context', models.JSONField(default=dict, help_text='{type, project_id?, entity_id?}')),
                ('summary', models.TextField(blank=True, help_text='Of the messages before summarised_until, for the model.')),
                ('summarised_until', models.PositiveIntegerField(default=0, help_text='A position in the conversation.')),
                ('tokens', models.PositiveBigIntegerField(default=0, help_text='In and out, as the provider counts them.')),
                ('dollars', models.DecimalField(decimal_places=6, default=0, max_digits=12)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['subject', '-updated_at'], name='chat_conversation_subject'), models.Index(fields=['updated_at'], name='chat_conversation_updated')],
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(help_text='From 1 within the conversation.')),
                ('role', models.CharField(choices=[('user', 'User'), ('assistant', 'Assistant')], max_length=10)),
                ('text', models.TextField(blank=True)),
                ('surface', models.CharField(blank=True, max_length=20)),
                ('release', models.CharField(blank=True, max_length=64)),
                ('cohort', models.CharField(blank=True, max_length=200)),
                ('layers', models.JSONField(default=list, help_text='[{name, tokens, budget, cut}]')),
                ('usage', models.JSONField(default=dict, help_text='{input, output, dollars, answers}')),
                ('written', models.JSONField(default=list, help_text='[{entity, action, entity_id?, entity_name?, status}]')),
                ('finish', models.CharField(blank=True, choices=[('stop', 'complete'), ('limit', 'reached a limit'), ('cancelled', 'stopped by the user'), ('ask', 'waits for the user'), ('error', 'failed'), ('interrupted', 'its process died')], max_length=12)),
                ('error', models.JSONField(blank=True, help_text='{code, message, retryable}', null=True)),
                ('cancel_requested', models.BooleanField(default=False)),
                ('heartbeat_at', models.DateTimeField(blank=True, help_text='While the turn runs.', null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('conversation', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='chat.conversation')),
            ],
            options={
                'ordering': ['conversation', 'position'],
            },
        ),
        migrations.CreateModel(
            name='EventChunk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first', models.PositiveIntegerField(help_text='The sequence number of its first event.')),
                ('last', models.PositiveIntegerField()),
                ('events', models.TextField(help_text='A JSON list of [type, data].')),
                ('written_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('message', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='event_chunks', to='chat.message')),
            ],
            options={
                'ordering': ['message', 'first'],
            },
        ),
        migrations.CreateModel(
            name='Profile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.CharField(help_text='Sent as Gateway-Subject. Opaque, not a name.', max_length=200, validators=[django.core.validators.RegexValidator('\\A[\\x21-\\x7e]{1,200}\\Z', 'Use 1 to 200 ASCII letters, digits and signs, without spaces, such as user-42.', 'not_a_header')])),
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='chat_profile', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'chat profile',
            },
        ),
        migrations.CreateModel(
            name='ToolCall',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(help_text='From 1 within the message.')),
                ('round', models.PositiveIntegerField(help_text="The model's answer that has the call, counted from 1.")),
                ('text_before', models.PositiveIntegerField(help_text="Length of the message's text when the call began.")),
                ('call_id', models.CharField(help_text="The model's id of the call.", max_length=200)),
                ('name', models.CharField(help_text='The tool, as the model named it.', max_length=200)),
                ('op', models.CharField(blank=True, max_length=200)),
                ('args', models.TextField(help_text='The arguments, as the model wrote them.')),
                ('envelope', models.JSONField(blank=True, help_text='The answer of the gateway.', null=True)),
                ('confirmation', models.TextField(blank=True, help_text='While it waits: the token that the gateway wants back.')),
                ('result', models.TextField(blank=True, help_text='What the model read of the answer.')),
                ('status', models.CharField(choices=[('start', 'Start'), ('success', 'Success'), ('error', 'Error'), ('confirm', 'Confirm')], default='start', max_length=10)),
                ('duration_ms', models.PositiveIntegerField(blank=True, null=True)),
                ('trace_id', models.CharField(blank=True, max_length=40)),
                ('message', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='calls', to='chat.message')),
            ],
            options={
                'ordering': ['message', 'position'],
            },
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('finish', ''), ('role', 'assistant')), fields=['heartbeat_at'], name='chat_message_running'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['created_at'], name='chat_message_created'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(fields=('conversation', 'position'), name='chat_message_position'),
        ),
        migrations.AddConstraint(
            model_name='message',
            constraint=models.UniqueConstraint(condition=models.Q(('finish', ''), ('role', 'assistant')), fields=('conversation',), name='chat_one_running_turn'),
        ),
        migrations.AddIndex(
            model_name='eventchunk',
            index=models.Index(fields=['written_at'], name='chat_chunk_written'),
        ),
        migrations.AddConstraint(
            model_name='eventchunk',
            constraint=models.UniqueConstraint(fields=('message', 'first'), name='chat_chunk_first'),
        ),
        migrations.AddConstraint(
            model_name='toolcall',
            constraint=models.UniqueConstraint(fields=('message', 'position'), name='chat_call_position'),
        ),
    ]
