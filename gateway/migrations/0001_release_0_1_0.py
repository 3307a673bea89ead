"""The tables of 0.1.0. Databases of earlier versions have them; the history of migrations begins here."""

import django.core.validators
import django.db.models.deletion
import gateway.models.client
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('gateway', '0001_squashed'),
        ('gateway', '0002_upstream_credentials'),
        ('gateway', '0003_signed_in_applications'),
        ('gateway', '0004_model_runs'),
        ('gateway', '0005_plain_help_texts'),
        ('gateway', '0006_stored_file_quota'),
    ]

    dependencies = [
        ('registry', '0001_release_0_1_0'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        migrations.swappable_dependency(settings.OAUTH2_PROVIDER_APPLICATION_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Client',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True)),
                ('subject_pattern', models.CharField(default='*', help_text='Subjects it may act for. * matches any characters: acme-*.', max_length=200)),
                ('op_patterns', models.JSONField(default=gateway.models.client.every_op, help_text='Ops it may see and run, such as onto.* for all below onto.', validators=[gateway.models.client._patterns])),
                ('confirms', models.BooleanField(default=True, help_text='Turn off if the service itself asks users to confirm.', verbose_name='asks for confirmation')),
                ('is_active', models.BooleanField(default=True, help_text='If off, all its keys stop working within two seconds.', verbose_name='active')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ['name'],
                'permissions': [('try_as_any_subject', 'Can try ops as any subject')],
            },
        ),
        migrations.CreateModel(
            name='PeriodicJob',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='The name that a manifest gives it.', max_length=200, unique=True)),
                ('next_run', models.DateTimeField()),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(blank=True, help_text='A label, such as staging chat.', max_length=100)),
                ('prefix', models.CharField(editable=False, max_length=16, unique=True)),
                ('secret_hash', models.CharField(editable=False, max_length=64, unique=True)),
                ('scopes', models.JSONField(default=gateway.models.client.all_scopes, validators=[gateway.models.client._known_scopes])),
                ('subject', models.CharField(blank=True, help_text='The only end user it may act for. If empty, all that the client may act for.', max_length=200)),
                ('rate', models.PositiveIntegerField(default=50, help_text='Requests per second, counted per process.', validators=[django.core.validators.MinValueValidator(1)], verbose_name='rate limit')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.CharField(editable=False, max_length=150)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('last_used_at', models.DateTimeField(blank=True, editable=False, help_text='To the minute.', null=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('rotated_from', models.ForeignKey(blank=True, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to='gateway.apikey')),
                ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='keys', to='gateway.client')),
            ],
            options={
                'verbose_name': 'API key',
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='Batch',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('subject', models.CharField(blank=True, max_length=200)),
                ('caller', models.JSONField(default=dict, help_text='From the headers: session, turn, context and more.')),
                ('release', models.CharField(help_text='The release that all its entries use.', max_length=64)),
                ('mode', models.CharField(choices=[('sequential', 'sequential'), ('parallel', 'parallel')], max_length=10)),
                ('stop_on_error', models.BooleanField(default=False)),
                ('key', models.CharField(blank=True, help_text='Its idempotency key.', max_length=255)),
                ('fingerprint', models.CharField(blank=True, help_text='SHA-256 of the canonical JSON of its body.', max_length=64)),
                ('trace_id', models.CharField(max_length=40)),
                ('created_at', models.DateTimeField()),
                ('runs_until', models.DateTimeField(help_text='Entries that have not started by then are cancelled.')),
                ('cancelled_at', models.DateTimeField(blank=True, null=True)),
                ('woken_at', models.DateTimeField(help_text='When workers were last notified.')),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('api_key', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to='gateway.apikey')),
                ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='gateway.client')),
            ],
            options={
                'verbose_name_plural': 'batches',
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='ConnectionSecret',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(choices=[('token', 'bearer token'), ('password', 'password'), ('key', 'API key'), ('client_secret', 'client secret'), ('signing_key', 'signing key')], max_length=20, verbose_name='secret')),
                ('value', models.TextField(editable=False, help_text='Encrypted, or env: and the name of a variable.')),
                ('origin', models.CharField(editable=False, help_text='The origins that it was entered for.', max_length=1100)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('connection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='secrets', to='registry.connection')),
            ],
            options={
                'ordering': ['connection', 'name'],
            },
        ),
        migrations.CreateModel(
            name='IdempotencyRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.CharField(blank=True, max_length=200)),
                ('key', models.CharField(max_length=255)),
                ('op', models.CharField(max_length=200)),
                ('fingerprint', models.CharField(help_text='SHA-256 of the canonical JSON of op and args as sent.', max_length=64)),
                ('state', models.CharField(choices=[('claimed', 'claimed'), ('done', 'done'), ('unknown', 'unknown')], default='claimed', max_length=10)),
                ('status', models.PositiveSmallIntegerField(default=0, help_text='HTTP status of the response.')),
                ('answer', models.TextField(blank=True, help_text='The envelope of the response.')),
                ('trace_id', models.CharField(max_length=40)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('doubtful_at', models.DateTimeField(blank=True, help_text='For a claim committed before its write: when it counts as unknown.', null=True)),
                ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='gateway.client')),
            ],
        ),
        migrations.CreateModel(
            name='ModelRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('target', models.CharField(choices=[('draft', 'the draft'), ('live', 'the live release')], default='draft', help_text='The copy that the model reads.', max_length=10, verbose_name='run on')),
                ('tier', models.CharField(choices=[('main', 'main'), ('fast', 'fast')], default='main', help_text='main is LLM_MODEL, fast is LLM_FAST_MODEL.', max_length=10)),
                ('case_set', models.CharField(blank=True, choices=[('tuned', 'tuned'), ('held_back', 'held back')], help_text='Empty: all sets.', max_length=10, verbose_name='set')),
                ('tag', models.CharField(blank=True, help_text='Only cases with this tag. Empty: all.', max_length=60)),
                ('case_limit', models.PositiveIntegerField(default=20, help_text='Maximum number of cases, spread over the ops. Each case takes several requests to the model.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(500)], verbose_name='cases')),
                ('state', models.CharField(choices=[('running', 'running'), ('done', 'done'), ('stopped', 'stopped'), ('failed', 'failed')], default='running', editable=False, max_length=10)),
                ('version', models.CharField(blank=True, editable=False, help_text='Of the copy that the model read.', max_length=64)),
                ('model', models.CharField(blank=True, editable=False, help_text="The model's name.", max_length=200)),
                ('case_count', models.PositiveIntegerField(default=0, editable=False)),
                ('results', models.JSONField(default=list, editable=False, help_text='See gateway.model_evals.conversation.')),
                ('dollars', models.DecimalField(decimal_places=6, default=0, editable=False, max_digits=12)),
                ('error', models.CharField(blank=True, editable=False, max_length=500)),
                ('created_by', models.CharField(editable=False, max_length=150)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'verbose_name': 'eval with a model',
                'verbose_name_plural': 'evals with a model',
                'ordering': ['-created_at', '-id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['running', 'done', 'stopped', 'failed'])), name='model_run_state_known')],
            },
        ),
        migrations.CreateModel(
            name='SignedInApplication',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='since')),
                ('application', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.OAUTH2_PROVIDER_APPLICATION_MODEL)),
                ('key', models.OneToOneField(help_text='Its scopes, rate limit and expiry apply. Revoking it ends the access.', on_delete=django.db.models.deletion.CASCADE, related_name='signed_in_application', to='gateway.apikey', verbose_name='API key')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'signed-in application',
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='SignIn',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('subject', models.CharField(max_length=200)),
                ('verifier', models.TextField(help_text='PKCE code verifier, encrypted.')),
                ('created_at', models.DateTimeField(db_index=True)),
                ('used_at', models.DateTimeField(blank=True, null=True)),
                ('connection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='registry.connection')),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='StoredFile',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('subject', models.CharField(blank=True, max_length=200)),
                ('name', models.CharField(max_length=255)),
                ('content_type', models.CharField(max_length=200)),
                ('content', models.BinaryField()),
                ('size', models.PositiveIntegerField(help_text='Bytes.')),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='gateway.client')),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='UsedConfirmation',
            fields=[
                ('digest', models.CharField(help_text='SHA-256 of the token.', max_length=64, primary_key=True, serialize=False)),
                ('op', models.CharField(max_length=200)),
                ('trace_id', models.CharField(max_length=40)),
                ('used_at', models.DateTimeField(db_index=True)),
                ('client', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='gateway.client')),
            ],
            options={
                'ordering': ['-used_at'],
            },
        ),
        migrations.CreateModel(
            name='UserGrant',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.CharField(help_text='The end user.', max_length=200)),
                ('access_token', models.TextField(editable=False, help_text='Encrypted.')),
                ('refresh_token', models.TextField(blank=True, editable=False, help_text='Encrypted. Empty: it cannot be renewed.')),
                ('expires_at', models.DateTimeField(blank=True, help_text='Of the access token. Empty: unknown.', null=True)),
                ('scopes', models.CharField(blank=True, max_length=1000)),
                ('origin', models.CharField(editable=False, help_text='The origins that it was granted for.', max_length=1100)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('connection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='grants', to='registry.connection')),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='BatchEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('index', models.PositiveSmallIntegerField()),
                ('type', models.CharField(help_text='help or exec.', max_length=10)),
                ('name', models.CharField(blank=True, help_text='Its op or path; as sent if unknown.', max_length=200)),
                ('body', models.JSONField(help_text='The call as sent.')),
                ('needs', models.JSONField(default=list, help_text='Indexes of the entries it depends on.')),
                ('state', models.CharField(choices=[('pending', 'pending'), ('running', 'running'), ('done', 'done')], default='pending', max_length=10)),
                ('outcome', models.CharField(blank=True, choices=[('succeeded', 'succeeded'), ('failed', 'failed'), ('skipped', 'skipped')], max_length=10)),
                ('runner', models.CharField(blank=True, help_text='The runner that holds the lease.', max_length=32)),
                ('held_until', models.DateTimeField(blank=True, help_text='End of the lease; its runner renews it.', null=True)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('answer', models.TextField(blank=True, help_text='Its envelope.')),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('batch', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='gateway.batch')),
            ],
            options={
                'verbose_name_plural': 'batch entries',
                'ordering': ['batch', 'index'],
                'indexes': [models.Index(condition=models.Q(('state', 'done'), _negated=True), fields=['state', 'held_until'], name='batch_entry_open')],
                'constraints': [models.UniqueConstraint(fields=('batch', 'index'), name='batch_entry_once'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), models.Q(('outcome', ''), _negated=True), models.Q(('answer', ''), _negated=True)), models.Q(models.Q(('state', 'done'), _negated=True), ('answer', ''), ('outcome', '')), _connector='OR'), name='batch_entry_done_is_answered'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), models.Q(models.Q(('runner', ''), _negated=True), ('held_until__isnull', False)), _connector='OR'), name='batch_entry_running_is_held')],
            },
        ),
        migrations.AddConstraint(
            model_name='batch',
            constraint=models.UniqueConstraint(condition=models.Q(('key', ''), _negated=True), fields=('client', 'subject', 'key'), name='batch_key_once'),
        ),
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.CheckConstraint(condition=models.Q(('rate__gte', 1)), name='key_rate_positive'),
        ),
        migrations.AddConstraint(
            model_name='connectionsecret',
            constraint=models.UniqueConstraint(fields=('connection', 'name'), name='connection_secret_once'),
        ),
        migrations.AddConstraint(
            model_name='idempotencyrecord',
            constraint=models.UniqueConstraint(fields=('client', 'subject', 'key'), name='idempotency_key_once'),
        ),
        migrations.AddConstraint(
            model_name='idempotencyrecord',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), models.Q(('answer', ''), _negated=True), _connector='OR'), name='idempotency_done_has_answer'),
        ),
        migrations.AddConstraint(
            model_name='signedinapplication',
            constraint=models.UniqueConstraint(fields=('application', 'user'), name='signed_in_application_once'),
        ),
        migrations.AddIndex(
            model_name='storedfile',
            index=models.Index(fields=['client', 'subject', 'expires_at', 'size'], name='stored_file_quota'),
        ),
        migrations.AddConstraint(
            model_name='usergrant',
            constraint=models.UniqueConstraint(fields=('connection', 'subject'), name='user_grant_once'),
        ),
    ]
