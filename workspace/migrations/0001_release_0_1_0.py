"""The tables of 0.1.0. Databases of earlier versions have them; the history of migrations begins here."""

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
import uuid
import workspace.models.base
import workspace.models.profile
import workspace.models.working_week
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('workspace', '0001_squashed'),
        ('workspace', '0002_scheduled_work_and_series_parts'),
        ('workspace', '0003_skipped_occurrences'),
        ('workspace', '0004_document_tags'),
    ]

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Profile',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('subject', models.CharField(help_text="The subject's id, as the chat service sends it.", max_length=200)),
                ('name', models.CharField(blank=True, default='', help_text="The person's name.", max_length=200)),
                ('time_zone', models.CharField(default='UTC', help_text='Time zone of all calendar times, as an IANA name such as Europe/Berlin.', max_length=64, validators=[workspace.models.profile.validate_zone])),
                ('working_hours', models.JSONField(blank=True, default=workspace.models.working_week.usual, help_text='Local times by weekday: {"monday": ["09:00-12:00", "13:00-17:00"]}. A day without times is a day off. A night shift is 22:00-24:00 on one day and 00:00-06:00 on the next.')),
                ('preferences', models.JSONField(blank=True, decoder=workspace.models.base.AsSent, default=dict, help_text='Work preferences, as a JSON object such as {"focus": "mornings"}.')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('subject',), name='profile_unique_subject', violation_error_message='This subject already has a profile; edit that one.'), models.CheckConstraint(condition=models.Q(('subject', ''), _negated=True), name='profile_subject_given', violation_error_message='subject must not be empty.'), models.CheckConstraint(condition=models.Q(('time_zone', ''), _negated=True), name='profile_time_zone_given', violation_error_message='time_zone must not be empty.')],
            },
        ),
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('description', models.TextField(blank=True, default='', help_text='Free text; null clears it.', max_length=20000)),
                ('props', models.JSONField(blank=True, decoder=workspace.models.base.AsSent, default=dict, help_text='Extra fields; an update merges its keys, and null removes a key.')),
                ('created_by', models.CharField(editable=False, help_text='The subject who created the row.', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('name', models.CharField(help_text='Name of the project.', max_length=200)),
                ('type_key', models.CharField(help_text='The type of project: project.<realm>.<deliverable> or project.<realm>.<deliverable>.<variant>.', max_length=100, validators=[django.core.validators.RegexValidator('^project\\.(creative|technical|business|service|education|personal)\\.[a-z_]+(\\.[a-z_]+)?$')], verbose_name='type')),
                ('state_key', models.CharField(choices=[('planning', 'planning'), ('active', 'active'), ('paused', 'paused'), ('completed', 'completed'), ('cancelled', 'cancelled')], default='planning', help_text='State of the project; entering completed sets completed_at, leaving it clears completed_at.', max_length=20, verbose_name='state')),
                ('start_at', models.DateTimeField(blank=True, help_text='When the project starts; null clears it.', null=True)),
                ('end_at', models.DateTimeField(blank=True, help_text='Planned end, not before start_at; null clears it.', null=True)),
                ('slug', models.SlugField(blank=True, db_index=False, default='', help_text='URL form of the name; generated from the name if not sent.', max_length=80)),
                ('executive_summary', models.TextField(blank=True, default='', help_text='Summary of the project in one paragraph; null clears it.', max_length=5000)),
                ('tags', workspace.models.base.TagsField(blank=True, default=list, help_text='At most 20 short labels, one per line.')),
                ('context', models.TextField(blank=True, default='', help_text='Background knowledge about the project, in Markdown; null clears it.', max_length=100000)),
                ('completed_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('tree_version', models.PositiveBigIntegerField(default=0, editable=False, help_text='Number of changes to the document tree.')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='project_name_given', violation_error_message='name must not be empty.'), models.CheckConstraint(condition=models.Q(('type_key__startswith', 'project.')), name='project_type_key_of_project', violation_error_message='type_key must start with project.'), models.CheckConstraint(condition=models.Q(('state_key__in', ['planning', 'active', 'paused', 'completed', 'cancelled'])), name='project_state_known', violation_error_message='state_key must be one of planning, active, paused, completed, cancelled.'), models.CheckConstraint(condition=models.Q(('start_at', None), ('end_at', None), ('end_at__gte', models.F('start_at')), _connector='OR'), name='project_end_not_before_start', violation_error_message='end_at must not be before start_at.'), models.CheckConstraint(condition=models.Q(models.Q(('completed_at__isnull', False), ('state_key', 'completed')), models.Q(('completed_at', None), models.Q(('state_key', 'completed'), _negated=True)), _connector='OR'), name='project_completed_at_while_completed', violation_error_message='completed_at must be set if state_key is completed, and empty otherwise.')],
            },
        ),
        migrations.CreateModel(
            name='Task',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('description', models.TextField(blank=True, default='', help_text='Free text; null clears it.', max_length=20000)),
                ('props', models.JSONField(blank=True, decoder=workspace.models.base.AsSent, default=dict, help_text='Extra fields; an update merges its keys, and null removes a key.')),
                ('created_by', models.CharField(editable=False, help_text='The subject who created the row.', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('title', models.CharField(help_text='What to do, in a few words.', max_length=300)),
                ('type_key', models.CharField(default='task.execute', help_text='The type of work: task.<work_mode> or task.<work_mode>.<specialisation>.', max_length=100, validators=[django.core.validators.RegexValidator('^task\\.(execute|create|refine|research|review|coordinate|admin|plan)(\\.[a-z_]+)?$')], verbose_name='type')),
                ('state_key', models.CharField(choices=[('todo', 'to do'), ('in_progress', 'in progress'), ('blocked', 'blocked'), ('done', 'done')], default='todo', help_text='State of the task; entering done sets completed_at, leaving it clears completed_at.', max_length=20, verbose_name='state')),
                ('priority', models.SmallIntegerField(default=3, help_text='1 (most urgent) to 5 (least urgent).', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(5)])),
                ('start_at', models.DateTimeField(blank=True, help_text='When work should start; null clears it.', null=True)),
                ('due_at', models.DateTimeField(blank=True, help_text='When the task must be done, not before start_at; null clears it.', null=True)),
                ('details', models.TextField(blank=True, default='', help_text='Working notes, in Markdown; null clears them.', max_length=20000)),
                ('duration_minutes', models.PositiveIntegerField(default=60, help_text='Expected duration in minutes.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(44640)])),
                ('recurrence', models.CharField(blank=True, choices=[('daily', 'daily'), ('weekdays', 'weekdays'), ('weekly', 'weekly'), ('biweekly', 'biweekly'), ('monthly', 'monthly')], default='', help_text='How often the task recurs; null for once.', max_length=10)),
                ('recurrence_until', models.DateTimeField(blank=True, help_text='The task does not recur after this time; null for no end.', null=True)),
                ('completed_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('is_scheduled', models.BooleanField(db_default=False, default=False, editable=False, help_text='Whether it is worked on for its duration from start_at, apart from its deadline.')),
                ('skipped_occurrences', models.JSONField(blank=True, db_default=[], default=list, editable=False, help_text='Numbers, counted from 0, of the occurrences that were cancelled or became tasks of their own.')),
                ('parent_task', models.ForeignKey(blank=True, db_index=False, help_text='The parent task, in the same project; null for none.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='subtasks', to='workspace.task')),
                ('project', models.ForeignKey(db_index=False, help_text='The project that the task belongs to.', on_delete=django.db.models.deletion.CASCADE, related_name='tasks', to='workspace.project')),
            ],
        ),
        migrations.CreateModel(
            name='CalendarEvent',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('description', models.TextField(blank=True, default='', help_text='Free text; null clears it.', max_length=20000)),
                ('props', models.JSONField(blank=True, decoder=workspace.models.base.AsSent, default=dict, help_text='Extra fields; an update merges its keys, and null removes a key.')),
                ('created_by', models.CharField(editable=False, help_text='The subject who created the row.', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('subject', models.CharField(blank=True, default='', help_text='Owner, if personal; empty for project events.', max_length=200)),
                ('task_event_kind', models.CharField(blank=True, choices=[('start', 'start'), ('due', 'due'), ('range', 'start to due')], default='', editable=False, help_text="Which of the task's dates the event shows; empty if it shows none.", max_length=10)),
                ('title', models.CharField(help_text='Short title of the event.', max_length=300)),
                ('location', models.CharField(blank=True, default='', help_text='Where it is; null clears it.', max_length=500)),
                ('attendees', models.JSONField(blank=True, default=list, help_text='Names or addresses of participants.')),
                ('start_at', models.DateTimeField(blank=True, help_text='When it starts; null for an all-day event.', null=True)),
                ('end_at', models.DateTimeField(blank=True, help_text='When it ends; null for an all-day event.', null=True)),
                ('start_date', models.DateField(blank=True, help_text='First day of an all-day event.', null=True)),
                ('end_date', models.DateField(blank=True, help_text='Last day of an all-day event, inclusive.', null=True)),
                ('time_zone', models.CharField(default='UTC', help_text='The time zone in which the event recurs, such as Europe/Berlin.', max_length=64, validators=[workspace.models.profile.validate_zone])),
                ('recurrence', models.CharField(blank=True, choices=[('daily', 'daily'), ('weekdays', 'weekdays'), ('weekly', 'weekly'), ('biweekly', 'biweekly'), ('monthly', 'monthly')], default='', help_text='How often it recurs; null for once.', max_length=10)),
                ('recurrence_until', models.DateTimeField(blank=True, help_text='No occurrence starts after this time; null for no end.', null=True)),
                ('excluded_starts', models.JSONField(blank=True, db_default=[], default=list, editable=False, help_text='Starts of occurrences that were cancelled or moved away; in UTC, or dates of whole days.')),
                ('project', models.ForeignKey(blank=True, db_index=False, help_text='The project that the event belongs to; null for a personal event.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='workspace.project')),
                ('task', models.ForeignKey(blank=True, help_text='The task of the same project that the event is for.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='workspace.task')),
            ],
        ),
        migrations.CreateModel(
            name='Plan',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('description', models.TextField(blank=True, default='', help_text='Free text; null clears it.', max_length=20000)),
                ('props', models.JSONField(blank=True, decoder=workspace.models.base.AsSent, default=dict, help_text='Extra fields; an update merges its keys, and null removes a key.')),
                ('created_by', models.CharField(editable=False, help_text='The subject who created the row.', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('name', models.CharField(help_text='Name of the phase.', max_length=200)),
                ('type_key', models.CharField(default='plan.phase.project', help_text='The type of plan: plan.<family> or plan.<family>.<variant>.', max_length=100, validators=[django.core.validators.RegexValidator('^plan\\.[a-z_]+(\\.[a-z_]+)?$')], verbose_name='type')),
                ('state_key', models.CharField(choices=[('draft', 'draft'), ('active', 'active'), ('completed', 'completed')], default='draft', help_text='State of the plan; entering completed sets completed_at, leaving it clears completed_at.', max_length=20, verbose_name='state')),
                ('plan', models.TextField(blank=True, default='', help_text='The steps, in Markdown; null clears them.', max_length=50000)),
                ('start_date', models.DateField(blank=True, help_text='First day of the phase; null clears it.', null=True)),
                ('end_date', models.DateField(blank=True, help_text='Last day of the phase, not before start_date; null clears it.', null=True)),
                ('completed_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('project', models.ForeignKey(db_index=False, help_text='The project that the plan belongs to.', on_delete=django.db.models.deletion.CASCADE, related_name='plans', to='workspace.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('deleted_at', None)), fields=['project', '-updated_at', '-id'], name='plan_page_in_project')],
                'constraints': [models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='plan_name_given', violation_error_message='name must not be empty.'), models.CheckConstraint(condition=models.Q(('type_key__startswith', 'plan.')), name='plan_type_key_of_plan', violation_error_message='type_key must start with plan.'), models.CheckConstraint(condition=models.Q(('state_key__in', ['draft', 'active', 'completed'])), name='plan_state_known', violation_error_message='state_key must be one of draft, active, completed.'), models.CheckConstraint(condition=models.Q(('start_date', None), ('end_date', None), ('end_date__gte', models.F('start_date')), _connector='OR'), name='plan_end_not_before_start', violation_error_message='end_date must not be before start_date.'), models.CheckConstraint(condition=models.Q(models.Q(('completed_at__isnull', False), ('state_key', 'completed')), models.Q(('completed_at', None), models.Q(('state_key', 'completed'), _negated=True)), _connector='OR'), name='plan_completed_at_while_completed', violation_error_message='completed_at must be set if state_key is completed, and empty otherwise.')],
            },
        ),
        migrations.CreateModel(
            name='Milestone',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('description', models.TextField(blank=True, default='', help_text='Free text; null clears it.', max_length=20000)),
                ('props', models.JSONField(blank=True, decoder=workspace.models.base.AsSent, default=dict, help_text='Extra fields; an update merges its keys, and null removes a key.')),
                ('created_by', models.CharField(editable=False, help_text='The subject who created the row.', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('title', models.CharField(help_text='What is finished when the milestone is reached.', max_length=300)),
                ('type_key', models.CharField(default='milestone.default', help_text='The type of milestone: milestone.<kind> or milestone.<kind>.<variant>.', max_length=100, validators=[django.core.validators.RegexValidator('^milestone\\.[a-z_]+(\\.[a-z_]+)?$')], verbose_name='type')),
                ('state_key', models.CharField(choices=[('pending', 'pending'), ('in_progress', 'in progress'), ('completed', 'completed'), ('missed', 'missed')], default='pending', help_text='State of the milestone; entering completed sets completed_at, leaving it clears completed_at.', max_length=20, verbose_name='state')),
                ('due_at', models.DateTimeField(blank=True, help_text='When the milestone is due; null clears it.', null=True)),
                ('completed_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('project', models.ForeignKey(db_index=False, help_text='The project that the milestone belongs to.', on_delete=django.db.models.deletion.CASCADE, related_name='milestones', to='workspace.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('deleted_at', None)), fields=['project', 'due_at', 'id'], name='milestone_in_project')],
                'constraints': [models.CheckConstraint(condition=models.Q(('title', ''), _negated=True), name='milestone_title_given', violation_error_message='title must not be empty.'), models.CheckConstraint(condition=models.Q(('type_key__startswith', 'milestone.')), name='milestone_type_key_of_kind', violation_error_message='type_key must start with milestone.'), models.CheckConstraint(condition=models.Q(('state_key__in', ['pending', 'in_progress', 'completed', 'missed'])), name='milestone_state_known', violation_error_message='state_key must be one of pending, in_progress, completed, missed.'), models.CheckConstraint(condition=models.Q(models.Q(('completed_at__isnull', False), ('state_key', 'completed')), models.Q(('completed_at', None), models.Q(('state_key', 'completed'), _negated=True)), _connector='OR'), name='milestone_stamped_while_completed', violation_error_message='completed_at must be set if state_key is completed, and empty otherwise.')],
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('subject', models.CharField(max_length=200)),
                ('role', models.CharField(choices=[('owner', 'owner'), ('editor', 'editor'), ('viewer', 'viewer')], default='viewer', max_length=10)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to='workspace.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('subject', 'project'), name='membership_unique_subject'), models.CheckConstraint(condition=models.Q(('role__in', ['owner', 'editor', 'viewer'])), name='membership_role_known', violation_error_message='role must be one of owner, editor, viewer.'), models.CheckConstraint(condition=models.Q(('subject', ''), _negated=True), name='membership_subject_given', violation_error_message='subject must not be empty.')],
            },
        ),
        migrations.CreateModel(
            name='Goal',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('description', models.TextField(blank=True, default='', help_text='Free text; null clears it.', max_length=20000)),
                ('props', models.JSONField(blank=True, decoder=workspace.models.base.AsSent, default=dict, help_text='Extra fields; an update merges its keys, and null removes a key.')),
                ('created_by', models.CharField(editable=False, help_text='The subject who created the row.', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('name', models.CharField(help_text='The outcome to achieve, in a few words.', max_length=200)),
                ('type_key', models.CharField(default='goal.outcome.project', help_text='The type of goal: goal.<family> or goal.<family>.<variant>.', max_length=100, validators=[django.core.validators.RegexValidator('^goal\\.[a-z_]+(\\.[a-z_]+)?$')], verbose_name='type')),
                ('state_key', models.CharField(choices=[('draft', 'draft'), ('active', 'active'), ('achieved', 'achieved'), ('abandoned', 'abandoned')], default='draft', help_text='State of the goal; entering achieved sets completed_at, leaving it clears completed_at.', max_length=20, verbose_name='state')),
                ('priority', models.SmallIntegerField(blank=True, help_text='1 (most urgent) to 5 (least urgent); null clears it.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(5)])),
                ('target_date', models.DateField(blank=True, help_text='The day to achieve the goal by; null clears it.', null=True)),
                ('measurement_criteria', models.TextField(blank=True, default='', help_text='How to tell that the goal is achieved; null clears it.', max_length=5000)),
                ('completed_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('project', models.ForeignKey(db_index=False, help_text='The project that the goal belongs to.', on_delete=django.db.models.deletion.CASCADE, related_name='goals', to='workspace.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('deleted_at', None)), fields=['project', '-created_at', '-id'], name='goal_newest_in_project')],
                'constraints': [models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='goal_name_given', violation_error_message='name must not be empty.'), models.CheckConstraint(condition=models.Q(('type_key__startswith', 'goal.')), name='goal_type_key_of_goal', violation_error_message='type_key must start with goal.'), models.CheckConstraint(condition=models.Q(('state_key__in', ['draft', 'active', 'achieved', 'abandoned'])), name='goal_state_known', violation_error_message='state_key must be one of draft, active, achieved, abandoned.'), models.CheckConstraint(condition=models.Q(('priority', None), ('priority__range', (1, 5)), _connector='OR'), name='goal_priority_in_range', violation_error_message='priority must be between 1 (most urgent) and 5.'), models.CheckConstraint(condition=models.Q(models.Q(('completed_at__isnull', False), ('state_key', 'achieved')), models.Q(('completed_at', None), models.Q(('state_key', 'achieved'), _negated=True)), _connector='OR'), name='goal_completed_at_while_achieved', violation_error_message='completed_at must be set if state_key is achieved, and empty otherwise.')],
            },
        ),
        migrations.CreateModel(
            name='Edge',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('src_kind', models.CharField(choices=[('project', 'project'), ('task', 'task'), ('document', 'document'), ('goal', 'goal'), ('plan', 'plan'), ('milestone', 'milestone'), ('risk', 'risk'), ('requirement', 'requirement')], max_length=20)),
                ('src_id', models.UUIDField()),
                ('rel', models.CharField(help_text='Relation of the source to the destination, such as depends_on.', max_length=60)),
                ('dst_kind', models.CharField(choices=[('project', 'project'), ('task', 'task'), ('document', 'document'), ('goal', 'goal'), ('plan', 'plan'), ('milestone', 'milestone'), ('risk', 'risk'), ('requirement', 'requirement')], max_length=20)),
                ('dst_id', models.UUIDField()),
                ('props', models.JSONField(blank=True, decoder=workspace.models.base.AsSent, default=dict)),
                ('created_by', models.CharField(editable=False, max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='edges', to='workspace.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('deleted_at', None)), fields=['src_id', 'rel'], name='edge_from'), models.Index(condition=models.Q(('deleted_at', None)), fields=['dst_id', 'rel'], name='edge_to'), models.Index(condition=models.Q(('deleted_at', None)), fields=['project'], name='edge_in_project')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('deleted_at', None)), fields=('src_id', 'rel', 'dst_id'), name='edge_unique_while_alive'), models.CheckConstraint(condition=models.Q(('src_id', models.F('dst_id')), _negated=True), name='edge_between_two_rows', violation_error_message='An edge must join two different rows.'), models.CheckConstraint(condition=models.Q(('src_kind__in', ['project', 'task', 'document', 'goal', 'plan', 'milestone', 'risk', 'requirement'])), name='edge_src_kind_known', violation_error_message='src_kind must be one of project, task, document, goal, plan, milestone, risk, requirement.'), models.CheckConstraint(condition=models.Q(('dst_kind__in', ['project', 'task', 'document', 'goal', 'plan', 'milestone', 'risk', 'requirement'])), name='edge_dst_kind_known', violation_error_message='dst_kind must be one of project, task, document, goal, plan, milestone, risk, requirement.'), models.CheckConstraint(condition=models.Q(('rel', ''), _negated=True), name='edge_rel_given', violation_error_message='rel must not be empty.')],
            },
        ),
        migrations.CreateModel(
            name='Document',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('description', models.TextField(blank=True, default='', help_text='Free text; null clears it.', max_length=20000)),
                ('props', models.JSONField(blank=True, decoder=workspace.models.base.AsSent, default=dict, help_text='Extra fields; an update merges its keys, and null removes a key.')),
                ('created_by', models.CharField(editable=False, help_text='The subject who created the row.', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('title', models.CharField(help_text='Title of the document.', max_length=300)),
                ('content', models.TextField(blank=True, default='', help_text='The text, in Markdown.', max_length=200000)),
                ('type_key', models.CharField(default='document.default', help_text='The type of document: document.<kind> or document.<kind>.<variant>.', max_length=100, validators=[django.core.validators.RegexValidator('^document\\.[a-z_]+(\\.[a-z_]+)?$')], verbose_name='type')),
                ('position', models.PositiveIntegerField(editable=False, help_text='Position among its siblings, from 0 without gaps; a deleted document keeps its last position.', null=True)),
                ('state_key', models.CharField(choices=[('draft', 'draft'), ('in_review', 'in review'), ('ready', 'ready'), ('published', 'published'), ('archived', 'archived')], default='draft', help_text='State of the document, from draft to published and archived.', max_length=20, verbose_name='state')),
                ('category', models.CharField(blank=True, default='', help_text='Topic of a note in one or two words, to find notes by; null clears it.', max_length=60)),
                ('tags', workspace.models.base.TagsField(blank=True, db_default='', default=list, help_text='At most 20 short labels, one per line.')),
                ('ai_summary', models.TextField(blank=True, default='', help_text="A model's summary of a brain dump; null clears it.", max_length=5000)),
                ('operation_count', models.PositiveIntegerField(blank=True, help_text='Number of operations that a brain dump led to; null if not counted.', null=True)),
                ('parent', models.ForeignKey(blank=True, db_index=False, help_text='The parent document, in the same project; null at the root.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='children', to='workspace.document')),
                ('project', models.ForeignKey(db_index=False, help_text='The project that the document belongs to.', on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='workspace.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('deleted_at', None)), fields=['project', '-updated_at', '-id'], name='document_page_in_project')],
                'constraints': [models.CheckConstraint(condition=models.Q(('title', ''), _negated=True), name='document_title_given', violation_error_message='title must not be empty.'), models.CheckConstraint(condition=models.Q(('type_key__startswith', 'document.')), name='document_type_key_of_document', violation_error_message='type_key must start with document.'), models.CheckConstraint(condition=models.Q(('state_key__in', ['draft', 'in_review', 'ready', 'published', 'archived'])), name='document_state_known', violation_error_message='state_key must be one of draft, in_review, ready, published, archived.'), models.CheckConstraint(condition=models.Q(('parent', None), models.Q(('parent', models.F('pk')), _negated=True), _connector='OR'), name='document_not_its_own_parent', violation_error_message='parent must be a different document.'), models.UniqueConstraint(condition=models.Q(('deleted_at', None)), fields=('parent', 'position'), name='document_place_below_unique'), models.UniqueConstraint(condition=models.Q(('deleted_at', None), ('parent', None)), fields=('project', 'position'), name='document_place_at_root_unique')],
            },
        ),
        migrations.CreateModel(
            name='ProjectCalendar',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('description', models.TextField(blank=True, default='', help_text='Free text; null clears it.', max_length=20000)),
                ('props', models.JSONField(blank=True, decoder=workspace.models.base.AsSent, default=dict, help_text='Extra fields; an update merges its keys, and null removes a key.')),
                ('created_by', models.CharField(editable=False, help_text='The subject who created the row.', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('name', models.CharField(help_text='Name of the calendar.', max_length=200)),
                ('color_id', models.CharField(choices=[('1', 'lavender'), ('2', 'sage'), ('3', 'grape'), ('4', 'flamingo'), ('5', 'banana'), ('6', 'tangerine'), ('7', 'peacock'), ('8', 'graphite'), ('9', 'blueberry'), ('10', 'basil'), ('11', 'tomato')], default='7', help_text='Its colour, 1 to 11.', max_length=2)),
                ('sync_enabled', models.BooleanField(default=False, help_text='Whether to copy events to an external calendar once connected.')),
                ('time_zone', models.CharField(default='UTC', help_text='Time zone of the calendar.', max_length=64, validators=[workspace.models.profile.validate_zone])),
                ('project', models.ForeignKey(db_index=False, help_text='The project whose events the calendar shows.', on_delete=django.db.models.deletion.CASCADE, related_name='calendars', to='workspace.project')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='calendar_name_given', violation_error_message='name must not be empty.'), models.CheckConstraint(condition=models.Q(('color_id__in', ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11'])), name='calendar_color_known', violation_error_message='color_id must be one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11.'), models.UniqueConstraint(condition=models.Q(('deleted_at', None)), fields=('project',), name='calendar_one_of_project_while_alive')],
            },
        ),
        migrations.CreateModel(
            name='Requirement',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('props', models.JSONField(blank=True, decoder=workspace.models.base.AsSent, default=dict, help_text='Extra fields; an update merges its keys, and null removes a key.')),
                ('created_by', models.CharField(editable=False, help_text='The subject who created the row.', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('text', models.CharField(help_text='What the result must be or do, in one sentence.', max_length=1000)),
                ('type_key', models.CharField(default='requirement.default', help_text='The type of requirement: requirement.<kind> or requirement.<kind>.<variant>.', max_length=100, validators=[django.core.validators.RegexValidator('^requirement\\.[a-z_]+(\\.[a-z_]+)?$')], verbose_name='type')),
                ('priority', models.SmallIntegerField(default=3, help_text='1 (most urgent) to 5 (least urgent).', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(5)])),
                ('project', models.ForeignKey(db_index=False, help_text='The project that the requirement belongs to.', on_delete=django.db.models.deletion.CASCADE, related_name='requirements', to='workspace.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('deleted_at', None)), fields=['project', '-created_at', '-id'], name='requirement_newest_in_project')],
                'constraints': [models.CheckConstraint(condition=models.Q(('text', ''), _negated=True), name='requirement_text_given', violation_error_message='text must not be empty.'), models.CheckConstraint(condition=models.Q(('type_key__startswith', 'requirement.')), name='requirement_type_key_of_kind', violation_error_message='type_key must start with requirement.'), models.CheckConstraint(condition=models.Q(('priority', None), ('priority__range', (1, 5)), _connector='OR'), name='requirement_priority_in_range', violation_error_message='priority must be between 1 (most urgent) and 5.')],
            },
        ),
        migrations.CreateModel(
            name='Risk',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('description', models.TextField(blank=True, default='', help_text='Free text; null clears it.', max_length=20000)),
                ('props', models.JSONField(blank=True, decoder=workspace.models.base.AsSent, default=dict, help_text='Extra fields; an update merges its keys, and null removes a key.')),
                ('created_by', models.CharField(editable=False, help_text='The subject who created the row.', max_length=200)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('updated_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('title', models.CharField(help_text='What may go wrong, in a few words.', max_length=300)),
                ('type_key', models.CharField(default='risk.default', help_text='The type of risk: risk.<kind> or risk.<kind>.<variant>.', max_length=100, validators=[django.core.validators.RegexValidator('^risk\\.[a-z_]+(\\.[a-z_]+)?$')], verbose_name='type')),
                ('state_key', models.CharField(choices=[('identified', 'identified'), ('mitigated', 'mitigated'), ('occurred', 'occurred'), ('closed', 'closed')], default='identified', help_text='State of the risk; entering mitigated sets mitigated_at, leaving it clears mitigated_at.', max_length=20, verbose_name='state')),
                ('impact', models.CharField(choices=[('low', 'low'), ('medium', 'medium'), ('high', 'high'), ('critical', 'critical')], default='medium', help_text='Severity if the risk occurs, from low to critical.', max_length=10)),
                ('probability', models.FloatField(blank=True, help_text='Likelihood, from 0 (never) to 1 (certain); null clears it.', null=True, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)])),
                ('content', models.TextField(blank=True, default='', help_text='The response to the risk, in Markdown; null clears it.', max_length=20000)),
                ('mitigated_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('project', models.ForeignKey(db_index=False, help_text='The project that the risk belongs to.', on_delete=django.db.models.deletion.CASCADE, related_name='risks', to='workspace.project')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('deleted_at', None)), fields=['project', '-updated_at', '-id'], name='risk_page_in_project')],
                'constraints': [models.CheckConstraint(condition=models.Q(('title', ''), _negated=True), name='risk_title_given', violation_error_message='title must not be empty.'), models.CheckConstraint(condition=models.Q(('type_key__startswith', 'risk.')), name='risk_type_key_of_risk', violation_error_message='type_key must start with risk.'), models.CheckConstraint(condition=models.Q(('state_key__in', ['identified', 'mitigated', 'occurred', 'closed'])), name='risk_state_known', violation_error_message='state_key must be one of identified, mitigated, occurred, closed.'), models.CheckConstraint(condition=models.Q(('impact__in', ['low', 'medium', 'high', 'critical'])), name='risk_impact_known', violation_error_message='impact must be one of low, medium, high, critical.'), models.CheckConstraint(condition=models.Q(('probability', None), ('probability__range', (0, 1)), _connector='OR'), name='risk_probability_in_range', violation_error_message='probability must be between 0 (never) and 1 (certain).'), models.CheckConstraint(condition=models.Q(models.Q(('mitigated_at__isnull', False), ('state_key', 'mitigated')), models.Q(('mitigated_at', None), models.Q(('state_key', 'mitigated'), _negated=True)), _connector='OR'), name='risk_mitigated_at_while_mitigated', violation_error_message='mitigated_at must be set if state_key is mitigated, and empty otherwise.')],
            },
        ),
        migrations.AddIndex(
            model_name='task',
            index=models.Index(condition=models.Q(('deleted_at', None)), fields=['project', '-updated_at', '-id'], name='task_page_in_project'),
        ),
        migrations.AddIndex(
            model_name='task',
            index=models.Index(condition=models.Q(('deleted_at', None)), fields=['project', 'state_key'], name='task_count_in_project'),
        ),
        migrations.AddIndex(
            model_name='task',
            index=models.Index(condition=models.Q(('deleted_at', None)), fields=['parent_task'], name='task_subtasks'),
        ),
        migrations.AddConstraint(
            model_name='task',
            constraint=models.CheckConstraint(condition=models.Q(('title', ''), _negated=True), name='task_title_given', violation_error_message='title must not be empty.'),
        ),
        migrations.AddConstraint(
            model_name='task',
            constraint=models.CheckConstraint(condition=models.Q(('type_key__startswith', 'task.')), name='task_type_key_of_task', violation_error_message='type_key must start with task.'),
        ),
        migrations.AddConstraint(
            model_name='task',
            constraint=models.CheckConstraint(condition=models.Q(('state_key__in', ['todo', 'in_progress', 'blocked', 'done'])), name='task_state_known', violation_error_message='state_key must be one of todo, in_progress, blocked, done.'),
        ),
        migrations.AddConstraint(
            model_name='task',
            constraint=models.CheckConstraint(condition=models.Q(('priority', None), ('priority__range', (1, 5)), _connector='OR'), name='task_priority_in_range', violation_error_message='priority must be between 1 (most urgent) and 5.'),
        ),
        migrations.AddConstraint(
            model_name='task',
            constraint=models.CheckConstraint(condition=models.Q(('duration_minutes__range', (1, 44640))), name='task_duration_in_range', violation_error_message='duration_minutes must be between 1 and 44640.'),
        ),
        migrations.AddConstraint(
            model_name='task',
            constraint=models.CheckConstraint(condition=models.Q(('recurrence', ''), ('recurrence__in', ['daily', 'weekdays', 'weekly', 'biweekly', 'monthly']), _connector='OR'), name='task_recurrence_known', violation_error_message='recurrence must be one of daily, weekdays, weekly, biweekly, monthly, or null.'),
        ),
        migrations.AddConstraint(
            model_name='task',
            constraint=models.CheckConstraint(condition=models.Q(('recurrence_until', None), models.Q(('recurrence', ''), _negated=True), _connector='OR'), name='task_until_of_recurring', violation_error_message='recurrence_until requires recurrence.'),
        ),
        migrations.AddConstraint(
            model_name='task',
            constraint=models.CheckConstraint(condition=models.Q(('parent_task', None), models.Q(('parent_task', models.F('pk')), _negated=True), _connector='OR'), name='task_not_its_own_parent', violation_error_message='parent_task_id must be a different task.'),
        ),
        migrations.AddConstraint(
            model_name='task',
            constraint=models.CheckConstraint(condition=models.Q(('start_at', None), ('due_at', None), ('due_at__gte', models.F('start_at')), _connector='OR'), name='task_due_not_before_start', violation_error_message='due_at must not be before start_at.'),
        ),
        migrations.AddConstraint(
            model_name='task',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('completed_at__isnull', False), ('state_key', 'done')), models.Q(('completed_at', None), models.Q(('state_key', 'done'), _negated=True)), _connector='OR'), name='task_completed_at_while_done', violation_error_message='completed_at must be set if state_key is done, and empty otherwise.'),
        ),
        migrations.AddIndex(
            model_name='calendarevent',
            index=models.Index(condition=models.Q(('deleted_at', None), ('project__isnull', False)), fields=['project', 'end_at'], name='event_in_project_by_end'),
        ),
        migrations.AddIndex(
            model_name='calendarevent',
            index=models.Index(condition=models.Q(('deleted_at', None), ('project', None)), fields=['subject', 'end_at'], name='event_own_by_end'),
        ),
        migrations.AddConstraint(
            model_name='calendarevent',
            constraint=models.CheckConstraint(condition=models.Q(('title', ''), _negated=True), name='event_title_given', violation_error_message='title must not be empty.'),
        ),
        migrations.AddConstraint(
            model_name='calendarevent',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('project', None), models.Q(('subject', ''), _negated=True)), models.Q(('project__isnull', False), ('subject', '')), _connector='OR'), name='event_in_one_calendar', violation_error_message='Set either subject or project, not both.'),
        ),
        migrations.AddConstraint(
            model_name='calendarevent',
            constraint=models.CheckConstraint(condition=models.Q(('task', None), ('project__isnull', False), _connector='OR'), name='event_of_task_in_project', violation_error_message='An event of a task belongs to its project; choose that project.'),
        ),
        migrations.AddConstraint(
            model_name='calendarevent',
            constraint=models.CheckConstraint(condition=models.Q(('task_event_kind', ''), models.Q(('task__isnull', False), ('task_event_kind__in', ['start', 'due', 'range'])), _connector='OR'), name='event_kind_of_task_known', violation_error_message='task_event_kind requires a task.'),
        ),
        migrations.AddConstraint(
            model_name='calendarevent',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('end_at__isnull', False), ('end_date', None), ('start_at__isnull', False), ('start_date', None)), models.Q(('end_at', None), ('end_date__isnull', False), ('start_at', None), ('start_date__isnull', False)), _connector='OR'), name='event_timed_or_all_day', violation_error_message='Set start_at and end_at, or start_date and end_date.'),
        ),
        migrations.AddConstraint(
            model_name='calendarevent',
            constraint=models.CheckConstraint(condition=models.Q(('start_at', None), ('start_at__lt', models.F('end_at')), _connector='OR'), name='event_start_before_end', violation_error_message='end_at must be after start_at.'),
        ),
        migrations.AddConstraint(
            model_name='calendarevent',
            constraint=models.CheckConstraint(condition=models.Q(('start_date', None), ('end_date', None), ('end_date__gte', models.F('start_date')), _connector='OR'), name='event_end_date_not_before_start', violation_error_message='end_date must not be before start_date.'),
        ),
        migrations.AddConstraint(
            model_name='calendarevent',
            constraint=models.CheckConstraint(condition=models.Q(('recurrence', ''), ('recurrence__in', ['daily', 'weekdays', 'weekly', 'biweekly', 'monthly']), _connector='OR'), name='event_recurrence_known', violation_error_message='recurrence must be one of daily, weekdays, weekly, biweekly, monthly, or empty.'),
        ),
        migrations.AddConstraint(
            model_name='calendarevent',
            constraint=models.CheckConstraint(condition=models.Q(('recurrence_until', None), models.Q(('recurrence', ''), _negated=True), _connector='OR'), name='event_until_of_recurring', violation_error_message='recurrence_until requires recurrence.'),
        ),
        migrations.AddConstraint(
            model_name='calendarevent',
            constraint=models.UniqueConstraint(condition=models.Q(('deleted_at', None), models.Q(('task_event_kind', ''), _negated=True)), fields=('task', 'task_event_kind'), name='event_unique_of_task_date'),
        ),
    ]
