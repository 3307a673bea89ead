from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from registry.drafts import history
from registry.files import loader, yaml_format
from registry.releases import publishing


class Command(BaseCommand):
    help = "Merge the shipped tool copy into the draft. Safe to run twice; never overwrites an edit."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--publish",
            action="store_true",
            help="publish the result if the draft has no other unpublished edits",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        live = publishing.get_live_release()
        had_edits = live is not None and publishing.compute_draft_version() != live.version
        try:
            with transaction.atomic():
                report = loader.load_into_draft(loader.read_shipped_catalog())
                history.record_changes(report.changes, by="load_catalog", at=timezone.now(), note="Shipped catalog")
        except yaml_format.InvalidCatalogFiles as error:
            raise CommandError("\n".join(str(problem) for problem in error.problems)) from None
        self.stdout.write(str(report))
        if options["publish"]:
            self._publish(had_edits)

    def _publish(self, had_edits: bool) -> None:
        if had_edits:
            self.stdout.write("Not published: the draft has unpublished edits. Review them first.")
            return
        try:
            note = "Shipped catalog"
            release = publishing.publish_draft(note=note, by="load_catalog", at=timezone.now(), accepted=note)
        except publishing.AlreadyLive:
            self.stdout.write("The live release is up to date.")
        except publishing.NotPublishable as error:
            raise CommandError("\n".join(str(problem) for problem in error.problems)) from None
        else:
            self.stdout.write(f"Release {release.version[:12]} with {release.op_count} ops is live.")
