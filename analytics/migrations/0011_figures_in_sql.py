"""Events are counted once, by id. What the version before counted again each minute is taken back and still to count.

Processes of that version may still run: their mark is in the future, so that they count nothing.
"""

from datetime import UTC, datetime, timedelta

from django.db import migrations, models
from django.db.models import F, Max, Min
from django.utils import timezone

NEVER = datetime(9999, 1, 1, tzinfo=UTC)


def take_back_unsettled(apps, schema_editor):
    events = apps.get_model("analytics", "OperationEvent").objects.order_by("id")
    for name in ("OpDaily", "SubjectFigures"):
        apps.get_model("analytics", name).objects.filter(is_settled=False).delete()
    for mark in apps.get_model("analytics", "Rollup").objects.exclude(settled_until=NEVER):
        unsettled = events.filter(time__gte=mark.settled_until)
        unsettled.exclude(repairs=None).update(repairs=None)
        mark.last_id = events.aggregate(last=Max("id"))["last"] or 0
        first = unsettled.aggregate(first=Min("id"))["first"]
        if first is not None:
            # Settled events among them, and after the last one.
            settled = events.filter(id__gt=first, time__lt=mark.settled_until).values_list("id", flat=True)
            since = (timezone.now() + timedelta(days=7)).isoformat()  # until the new version runs
            for pk in [*settled, mark.last_id + 1]:
                if pk > first:
                    mark.gaps.append([first, pk - 1, since])
                first = pk + 1
        mark.settled_until = NEVER
        mark.save()


def settle(apps, schema_editor):
    apps.get_model("analytics", "Rollup").objects.update(settled_until=F("counted_at"))


class Migration(migrations.Migration):
    dependencies = [("analytics", "0010_data_flow_of_events")]

    operations = [
        migrations.AddField(
            model_name="rollup",
            name="gaps",
            field=models.JSONField(
                blank=True,
                db_default=[],
                default=list,
                help_text="[[first id, last id, when they were found missing], …].",
            ),
        ),
        migrations.AddField(
            model_name="rollup",
            name="last_id",
            field=models.BigIntegerField(
                db_default=0,
                default=0,
                help_text="Events up to this one are counted, apart from the gaps.",
                verbose_name="last event",
            ),
        ),
        migrations.AlterField(
            model_name="opdaily",
            name="is_settled",
            field=models.BooleanField(default=True, editable=False),
        ),
        migrations.AlterField(
            model_name="rollup",
            name="counted_at",
            field=models.DateTimeField(help_text="When events were last counted."),
        ),
        migrations.AlterField(
            model_name="rollup",
            name="settled_until",
            field=models.DateTimeField(default=NEVER, editable=False),
        ),
        migrations.AlterField(
            model_name="subjectfigures",
            name="is_settled",
            field=models.BooleanField(default=True, editable=False),
        ),
        migrations.RunPython(take_back_unsettled, settle),
    ]
