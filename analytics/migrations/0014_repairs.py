from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('analytics', '0013_plain_texts'),
    ]

    operations = [
        # RenameField does not rename the column in the state of a constraint, so it is removed and added again.
        migrations.RemoveConstraint(
            model_name='turn',
            name='turn_failures_within_calls',
        ),
        migrations.RenameField(
            model_name='opdaily',
            old_name='mended',
            new_name='repaired',
        ),
        migrations.RenameField(
            model_name='operationevent',
            old_name='mends',
            new_name='repairs',
        ),
        migrations.RenameField(
            model_name='turn',
            old_name='mended',
            new_name='repaired',
        ),
        migrations.AlterField(
            model_name='opdaily',
            name='repaired',
            field=models.PositiveIntegerField(db_default=0, default=0, help_text='Failed calls that a later call in the turn repaired.'),
        ),
        migrations.AlterField(
            model_name='operationevent',
            name='repairs',
            field=models.BigIntegerField(blank=True, help_text='Id of the earlier failed call in the turn that this call repaired.', null=True),
        ),
        migrations.AlterField(
            model_name='turn',
            name='repaired',
            field=models.PositiveIntegerField(default=0, help_text='Failed calls that a later call repaired.'),
        ),
        migrations.AddConstraint(
            model_name='turn',
            constraint=models.CheckConstraint(condition=models.Q(('calls__gte', models.F('failed')), ('failed__gte', models.F('repaired')), ('searches__gte', models.F('misses'))), name='turn_failures_within_calls'),
        ),
    ]
