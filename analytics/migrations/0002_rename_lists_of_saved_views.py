"""Saved views name their list, and two lists have the names of their new apps."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

NEW_NAMES = {
    "analytics_auditentry_changelist": "audit_auditentry_changelist",
    "analytics_notification_changelist": "notifications_notification_changelist",
}


def rename_lists(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    views = apps.get_model("analytics", "SavedView").objects.using(schema_editor.connection.alias)
    for old, new in NEW_NAMES.items():
        views.filter(page=old).update(page=new)


class Migration(migrations.Migration):
    dependencies = [("analytics", "0001_release_0_1_0")]

    operations = [migrations.RunPython(rename_lists, migrations.RunPython.noop)]
