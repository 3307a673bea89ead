from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from registry.drafts import history
from registry.evals import case_store
from registry.files import loader, yaml_format
from registry.releases import publishing

NOTE = "Shipped catalog"
BY = "load_catalog"


class Command(BaseCommand):
    help = "Merge the shipped tool copy and eval cases into the draft. Safe to run twice; never overwrites an edit."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--publish",
            action="store_true",
            help="publish the result if the draft has no other unpublished edits",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        had_edits = publishing.has_unpublished_edits()
        try:
            with transaction.atomic():
                content = loader.read_shipped_catalog()
                report = loader.load_into_draft(content)
                history.record_changes(report.changes, by=BY, at=timezone.now(), note=NOTE)
                paths = {entry["op"] for entry in content["ops"]}
                cases = [case for case in case_store.read_shipped_cases() if case["op"] in paths]
                cases_report = case_store.merge_shipped_cases(cases)
        except yaml_format.InvalidCatalogFiles as error:
            raise CommandError("\n".join(str(problem) for problem in error.problems)) from None
        self.stdout.write(f"{report}\nEval cases: {cases_report}")
        if options["publish"]:
            self._publish(had_edits)

    def _publish(self, had_edits: bool) -> None:
        try:
            done = publishing.publish_loaded_copy(had_edits=had_edits, note=NOTE, by=BY, at=timezone.now())
        except publishing.NotPublishable as error:
            raise CommandError("\n".join(str(problem) for problem in error.problems)) from None
        self.stdout.write(done)
