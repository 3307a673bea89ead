"""manage.py load_demo: create the demo workspace and its cohort; with --activity, four weeks of calls too."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from gateway.demo import activity, rollout
from workspace import demo


class Command(BaseCommand):
    """Adds only what was never created, so it is safe to run at every start."""

    help = "Load the demo workspace and a cohort for its user. Existing and deleted rows are left alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--activity",
            action="store_true",
            help="Also write four weeks of events and turns of demo users, and their cohorts.",
        )

    def handle(self, *, activity: bool, **_: Any) -> None:
        self._load_workspace()
        if rollout.create_demo_cohort(at=timezone.now()):
            self.stdout.write(f"Added the cohort {rollout.COHORT_NAME}: {demo.DEMO_SUBJECT} is on the gateway surface.")
        if activity:
            self._load_activity()

    def _load_workspace(self) -> None:
        added = demo.load(at=timezone.now())
        if not any(added.values()):
            self.stdout.write("The demo workspace exists; nothing was changed.")
            return
        counts = ", ".join(f"{number} {name if number > 1 else name[:-1]}" for name, number in added.items() if number)
        self.stdout.write(f"Added to the demo workspace of {demo.DEMO_SUBJECT}: {counts}.")

    def _load_activity(self) -> None:
        if cohort_names := rollout.create_comparison_cohorts(at=timezone.now()):
            self.stdout.write(f"Added the cohorts {' and '.join(cohort_names)} for the comparison report.")
        event_count = activity.load(at=timezone.now())
        if not event_count:
            self.stdout.write("The demo activity exists; nothing was changed.")
            return
        self.stdout.write(f"Added {event_count:,} events over {activity.DAYS} days. See Reports in the admin.")
