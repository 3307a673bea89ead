from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from gateway.jobs import subject_data


class Command(BaseCommand):
    """Delete all data the gateway stores about one end user."""

    help = (
        "Delete a subject's events, turns, exposures, batches and idempotency records, and remove it from cohorts. "
        "Daily figures name no subject and stay. Delete data in upstream systems separately."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("subject", help="The subject, as sent in Gateway-Subject")

    def handle(self, *args: Any, subject: str, **options: Any) -> None:
        if not subject.strip():
            raise CommandError("Give a subject, as sent in Gateway-Subject.")
        for name, count in subject_data.forget(subject, by="forget_subject", at=timezone.now()).items():
            if count:
                self.stdout.write(f"{count:,} {name.replace('_', ' ')}")
        for key in subject_data.find_bound_keys(subject):
            self.stdout.write(
                f"The key {key} is bound to this subject and still works. Revoke and delete it in the console."
            )
        self.stdout.write(f"All data about {subject} is deleted. Daily figures stay; they name no subject.")
