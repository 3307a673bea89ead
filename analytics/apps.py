from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class AnalyticsConfig(AppConfig):
    name = "analytics"
    verbose_name = "Activity"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        post_migrate.connect(_create_missing_rows, sender=self)


def _create_missing_rows(using: str, **_: Any) -> None:
    """Create the flags and the shipped rules that were added to the code, and the one row of stored contents."""
    from analytics.alerts import default_rules
    from analytics.events.stored_contents import ALL_PATTERNS, StoredContents
    from analytics.flags import FlagKey
    from analytics.rollout.models import Flag

    Flag.objects.using(using).bulk_create([Flag(key=key) for key in FlagKey], ignore_conflicts=True)
    default_rules.add_missing_rules(using)
    row = StoredContents(redacted=list(ALL_PATTERNS))
    StoredContents.objects.using(using).bulk_create([row], ignore_conflicts=True)
