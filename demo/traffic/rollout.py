"""Create the demo's cohorts: its subject and the environment dev on the gateway surface.

The demo activity adds two cohorts to compare. Each lists its users, so it matches nobody else.
"""

from datetime import datetime, timedelta

from django.db import transaction

from analytics.flags import FlagKey, Surface
from analytics.rollout.models import Cohort, CohortRule
from audit import audit_log
from audit.models import AuditEntry
from core import demo_data
from demo.traffic import activity
from demo.traffic.turns import SURFACE_COHORT

BY = "load_demo"
COHORT_NAME = "demo"


def create_demo_cohort(at: datetime) -> bool:
    """Create the demo's cohort unless it was created before, even if deleted since. Return whether it was created."""
    if _was_created(COHORT_NAME):
        return False
    subject = demo_data.get_demo_subject()
    with transaction.atomic():
        cohort = Cohort.objects.create(
            name=COHORT_NAME,
            flag_id=FlagKey.SURFACE,
            variant=Surface.GATEWAY,
            percentage=100,
            listed=[subject],
            note="The demo's user, and everyone in the environment dev.",
        )
        CohortRule.objects.create(cohort=cohort, attribute="environment", values=["dev"])
        changes = {"listed": [subject], "variant": Surface.GATEWAY, "rules": ["environment is one of dev"]}
        audit_log.record_change("cohort", COHORT_NAME, None, changes, by=BY, at=at)
    return True


def create_comparison_cohorts(at: datetime) -> list[str]:
    """Create the cohorts of the demo activity that were never created. Return their names."""
    created_names = []
    compared = list(activity.list_cohorts(at))
    everyone = [subject for _, subjects in compared for subject in subjects]
    cohorts = [(SURFACE_COHORT, FlagKey.SURFACE, Surface.GATEWAY.value, everyone)]
    cohorts += [(each.cohort, FlagKey.RELEASE, each.release, subjects) for each, subjects in compared]
    for name, flag, variant, subjects in cohorts:
        if _was_created(name):
            continue
        fields = {"variant": variant, "listed": subjects}
        with transaction.atomic():
            Cohort.objects.create(name=name, flag_id=flag, note="From the demo activity.", **fields)
            # Their exposures are as old as the activity.
            audit_log.record_change("cohort", name, None, fields, by=BY, at=at - timedelta(days=activity.DAYS + 1))
        created_names.append(name)
    return created_names


def _was_created(name: str) -> bool:
    """Return whether a cohort exists, or existed before it was deleted or renamed."""
    created_entries = AuditEntry.objects.filter(kind="cohort", name=name, by=BY)
    return Cohort.objects.filter(name=name).exists() or created_entries.exists()
