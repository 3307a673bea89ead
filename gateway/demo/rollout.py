"""Create the demo's cohorts: its subject and the environment dev on the gateway surface.

The demo activity adds two cohorts to compare. Each lists its users, so it matches nobody else.
"""

from datetime import datetime

from django.db import transaction

from analytics import audit
from analytics.models import AuditEntry, Cohort, CohortRule
from analytics.rollout.flags import LIVE, FlagKey, Surface
from gateway.demo import activity
from registry.models import Release
from workspace.demo import DEMO_SUBJECT

BY = "load_demo"
NAME = "demo"


def load(at: datetime) -> bool:
    """Create the demo's cohort unless it was created before, even if deleted since. Return whether it was created."""
    if _was_made(NAME):
        return False
    with transaction.atomic():
        cohort = Cohort.objects.create(
            name=NAME,
            flag_id=FlagKey.SURFACE,
            variant=Surface.GATEWAY,
            percentage=100,
            listed=[DEMO_SUBJECT],
            note="The demo's user, and everyone in the environment dev.",
        )
        CohortRule.objects.create(cohort=cohort, attribute="environment", values=["dev"])
        said = {"listed": [DEMO_SUBJECT], "variant": Surface.GATEWAY, "rules": ["environment is one of dev"]}
        audit.record(AuditEntry.Kind.COHORT, NAME, None, said, by=BY, at=at)
    return True


def load_compared(at: datetime) -> list[str]:
    """Create the cohorts of the demo activity that were never created. Return their names."""
    made = []
    for position, (served, subjects) in enumerate(activity.cohorts(), start=1):
        if _was_made(served.cohort):
            continue
        is_there = Release.objects.filter(version=served.release, withdrawn_at=None).exists()
        said = {"variant": served.release if is_there else LIVE, "listed": subjects}
        with transaction.atomic():
            Cohort.objects.create(
                name=served.cohort, flag_id=FlagKey.RELEASE, position=position, note="From the demo activity.", **said
            )
            audit.record(AuditEntry.Kind.COHORT, served.cohort, None, said, by=BY, at=at)
        made.append(served.cohort)
    return made


def _was_made(name: str) -> bool:
    """Return whether a cohort exists or existed before it was deleted or renamed."""
    made = AuditEntry.objects.filter(kind=AuditEntry.Kind.COHORT, name=name, by=BY)
    return Cohort.objects.filter(name=name).exists() or made.exists()
