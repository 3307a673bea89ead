"""manage.py load_demo: create the demo workspace and its cohort.

With --activity, four weeks of calls too; with --domains, the example domains; with --shop, the ops of the example shop.
"""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from django.utils.text import get_text_list

from core import demo_data
from demo import load as domains
from demo.refusals import get_data_folder
from demo.shop import load as example_shop
from demo.traffic import activity, compared_copy, rollout
from registry.releases import publishing, stored_releases

BY = "load_demo"
NOT_PUBLISHED = "Nothing is published yet. Run load_catalog --publish first."

TRY_DOMAINS = """
Try them (var/dev.env has the key):
  POST /api/v1/toolset                       {"format": "openai", "surface": "discovery"}
  POST /api/v1/discover/discover_file_tools  {}
  POST /api/v1/exec                          {"op": "read_file", "args": {"file_path": "config/database.yaml"}}
  POST /api/v1/discover/discover_crm_tools   {"tool": "update_contact"}
All callers share the example files and rows. To start again, delete the folder and run this command again.
"""


class Command(BaseCommand):
    """Adds only what was never created, so it is safe to run at every start."""

    help = "Load the demo workspace and a cohort for its user. Existing and deleted rows are left alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--activity",
            action="store_true",
            help="Also write four weeks of events and turns of demo users, their cohorts, and two experiments.",
        )
        parser.add_argument(
            "--domains",
            action="store_true",
            help="Also add example domains for discovery: files, shell, CRM and database, with data in var/examples.",
        )

        parser.add_argument(
            "--shop",
            metavar="URL",
            default="",
            help="Also import the ops of the example shop, which runs at this address.",
        )

    def handle(self, *, activity: bool, domains: bool, shop: str, **_: Any) -> None:
        for sentence in demo_data.load_demo_data(timezone.now()):
            self.stdout.write(sentence)
        if rollout.create_demo_cohort(at=timezone.now()):
            subject = demo_data.get_demo_subject()
            self.stdout.write(f"Added the cohort {rollout.COHORT_NAME}: {subject} is on the gateway surface.")
        if activity:
            self._load_activity()
        if domains:
            self._load_domains()
        if shop:
            self._load_shop(shop)

    def _load_activity(self) -> None:
        if stored_releases.get_live_release() is None:
            raise CommandError(NOT_PUBLISHED)
        if not activity.exists():
            compared_copy.backdate_live_release(timezone.now())
        if cohort_names := rollout.create_comparison_cohorts(at=timezone.now()):
            self.stdout.write(f"Added the cohorts {get_text_list(cohort_names, 'and')} for the reports.")
        event_count = activity.load(at=timezone.now(), with_experiments=True)
        if not event_count:
            self.stdout.write("The demo activity exists; nothing was changed.")
            return
        self.stdout.write(f"Added {event_count:,} events over {activity.DAYS} days. See Reports in the console.")

    def _load_domains(self) -> None:
        had_edits, at = publishing.has_unpublished_edits(), timezone.now()
        if stored_releases.get_live_release() is None:
            raise CommandError(NOT_PUBLISHED)
        try:
            file_count, row_count = domains.create_files(), domains.create_rows(at)
        except OSError as error:
            raise CommandError(f"Cannot create {get_data_folder()}: {error.strerror}.") from None
        if file_count or row_count:
            self.stdout.write(f"Added {file_count} example files and {row_count} CRM rows in {get_data_folder()}.")
        else:
            self.stdout.write("The example files and rows exist; nothing was changed.")
        self.stdout.write(f"Example domains: {domains.load_copy(at)}")
        self._publish(had_edits=had_edits, note=domains.NOTE, at=at)
        self.stdout.write(TRY_DOMAINS)

    def _load_shop(self, url: str) -> None:
        had_edits, at = publishing.has_unpublished_edits(), timezone.now()
        result = example_shop.import_shop(url, at=at)
        if not (result.merged.added or result.merged.updated):
            self.stdout.write("The ops of the example shop exist; nothing was changed.")
            return
        self.stdout.write(f"Example shop at {url}: {result.merged}")
        self._publish(had_edits=had_edits, note=example_shop.NOTE, at=at)

    def _publish(self, *, had_edits: bool, note: str, at: datetime) -> None:
        try:
            done = publishing.publish_loaded_copy(had_edits=had_edits, note=note, by=BY, at=at)
        except publishing.NotPublishable as error:
            raise CommandError("\n".join(str(problem) for problem in error.problems)) from None
        self.stdout.write(done)
