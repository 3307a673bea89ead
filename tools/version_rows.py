"""Rows of most kinds, for a database that later versions are upgraded from (see tools/dump_database)."""

from datetime import UTC, datetime, timedelta
from typing import Any

import django

NAME = "ana"
PASSWORD = "a-Long-Passphrase-7"  # noqa: S105 - of an account that exists only in dumps
AT = datetime(2026, 11, 1, 9, tzinfo=UTC)


def _find_name(model: Any, *names: str) -> str:
    """Return the name that a field has in this version."""
    return next(name for name in names if hasattr(model, name))


def write_rows() -> None:
    """Write the rows through models and commands, with names that hold in every version."""
    from django.apps import apps
    from django.contrib.auth.models import Group, Permission, User
    from django.core.management import call_command

    call_command("load_catalog", publish=True, verbosity=0)
    call_command("create_api_key", "old-service", subjects="ana")
    models = {model.__name__: model for model in apps.get_models()}
    user = User.objects.create_user(NAME, password=PASSWORD, is_staff=True)
    user.groups.add(Group.objects.get(name="Auditor"))
    # Two permissions that the role has already, given to the account itself: those of models that moved must follow.
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_auditentry", "view_notification"]))
    models["AuditEntry"].objects.create(time=AT, by=NAME, kind="cohort", name="pilot", action="added", note="First")
    models["Notification"].objects.create(
        channel="webhook",
        event="cohort.stopped",
        subject="Stopped",
        text="pilot",
        by=NAME,
        created_at=AT,
        **{_find_name(models["Notification"], "held_until", "next_try_at"): AT},
    )
    flag = models["Flag"].objects.get(pk="AGENTIC_CHAT_TOOL_GATEWAY")
    cohort = models["Cohort"].objects.create(name="pilot", flag=flag, variant="gateway", percentage=25)
    models["CohortRule"].objects.create(cohort=cohort, attribute="environment", operator="in", values=["dev"])
    models["SavedView"].objects.create(name="Failed", page="report_ops", owner=user, saved_at=AT, is_shared=True)
    page = f"{models['AuditEntry']._meta.app_label}_auditentry_changelist"
    models["SavedView"].objects.create(name="By ana", page=page, query="q=ana", owner=user, saved_at=AT)
    next_run = _find_name(models["PeriodicJob"], "held_until", "next_run")
    models["PeriodicJob"].objects.create(**{"name": "rollups.run_rollup", next_run: AT + timedelta(minutes=1)})
    models["Project"].objects.create(name="Relaunch", type_key="project.business.launch", created_by=NAME)


if __name__ == "__main__":
    django.setup()
    write_rows()
