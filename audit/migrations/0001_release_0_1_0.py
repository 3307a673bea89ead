"""The table of the app, which databases of earlier versions have from analytics."""

from django.db import migrations, models

from core.database.moved_models import AdoptModel, move_content_type


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('contenttypes', '0002_remove_content_type_name'),
    ]

    operations = [
        AdoptModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('time', models.DateTimeField()),
                ('by', models.CharField(max_length=150)),
                ('by_id', models.BigIntegerField(editable=False, help_text='Id of the account. A name can be changed, or given to somebody else.', null=True)),
                ('kind', models.CharField(help_text='Of what: one of the kinds that the manifests declare.', max_length=10)),
                ('name', models.CharField(help_text='The path or name after the change.', max_length=200)),
                ('action', models.CharField(choices=[('added', 'added'), ('changed', 'changed'), ('removed', 'removed'), ('tried', 'tried'), ('published', 'published'), ('made_live', 'made live again'), ('imported', 'imported'), ('exported', 'exported'), ('rotated', 'rotated'), ('revoked', 'revoked'), ('signed_in', 'signed in'), ('signed_out', 'signed out'), ('asked', 'asked for'), ('commented', 'commented'), ('approved', 'approved'), ('sent_back', 'sent back'), ('withdrawn', 'withdrawn'), ('failed', 'failed')], max_length=10)),
                ('changes', models.JSONField(default=dict, help_text='{field: [before, after]}, null if empty. For a removed row, all fields.')),
                ('note', models.CharField(blank=True, max_length=500)),
            ],
            options={
                'verbose_name': 'audit log entry',
                'verbose_name_plural': 'audit log entries',
                'db_table': 'analytics_auditentry',
                'ordering': ['-time', '-id'],
                'indexes': [models.Index(fields=['-time', '-id'], name='audit_newest'), models.Index(fields=['kind', 'name', '-id'], name='audit_of_one')],
                'constraints': [models.CheckConstraint(condition=models.Q(('by', ''), _negated=True), name='audit_by_somebody'), models.CheckConstraint(condition=models.Q(('action__in', ['added', 'changed', 'removed', 'tried', 'published', 'made_live', 'imported', 'exported', 'rotated', 'revoked', 'signed_in', 'signed_out', 'asked', 'commented', 'approved', 'sent_back', 'withdrawn', 'failed'])), name='audit_action_known')],
            },
        ),
        move_content_type('analytics', 'audit', 'auditentry'),
    ]
