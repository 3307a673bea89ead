from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from gateway import subjects


class Command(BaseCommand):
    """Delete all that the gateway keeps of one end user."""

    help = (
        "Delete the events, turns, exposures, batches and idempotency records of a subject, and take it off cohorts. "
        "Daily figures name nobody and stay; what the upstream systems know is theirs to delete."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("subject", help="As Gateway-Subject names it")

    def handle(self, *args: Any, subject: str, **options: Any) -> None:
        if not subject.strip():
            raise CommandError("Name a subject, as Gateway-Subject does.")
        for name, count in subjects.forget(subject).items():
            if count:
                self.stdout.write(f"{count:,} {name.replace('_', ' ')}")
        for key in subjects.keys_of(subject):
            self.stdout.write(f"The key {key} is bound to it and still works. Revoke and delete it in the admin.")
        self.stdout.write(f"Nothing is kept of {subject} any more, but in daily figures, which name nobody.")
