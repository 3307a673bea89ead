"""Number the releases that exist, in the order in which they were made."""

from typing import Any

from django.db import migrations


def number_releases(apps: Any, schema_editor: Any) -> None:
    release = apps.get_model("registry", "Release")
    versions = release.objects.order_by("created_at", "version").values_list("version", flat=True)
    for number, version in enumerate(versions, start=1):
        release.objects.filter(version=version).update(number=number)


class Migration(migrations.Migration):
    dependencies = [("registry", "0011_release_number_name_labels")]

    operations = [migrations.RunPython(number_releases, migrations.RunPython.noop)]
