"""Documents from before there was a tree lie at its root, the oldest first."""

from itertools import groupby
from operator import attrgetter

from django.db import migrations
from django.db.models import Max

BATCH = 500


def place(apps, schema_editor):
    Document = apps.get_model("workspace", "Document")
    alive = Document.objects.filter(deleted_at=None)
    waiting = alive.filter(position=None).order_by("project_id", "created_at", "pk").only("project_id")
    placed = alive.filter(parent=None).order_by().values_list("project_id").annotate(last=Max("position"))
    free = {project: last + 1 for project, last in placed if last is not None}
    for project, documents in groupby(waiting, attrgetter("project_id")):
        found = list(documents)
        for position, document in enumerate(found, start=free.get(project, 0)):
            document.position = position
        Document.objects.bulk_update(found, ["position"], batch_size=BATCH)


class Migration(migrations.Migration):

    dependencies = [
        ('workspace', '0004_document_tree'),
    ]

    operations = [
        migrations.RunPython(place, migrations.RunPython.noop, elidable=True),
    ]
