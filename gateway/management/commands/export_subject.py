import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder
from django.utils import timezone

from audit import audit_log
from gateway.jobs import subject_data


class Command(BaseCommand):
    """Print all data the gateway stores about one end user."""

    help = "Print all data stored about a subject as JSON lines: events, turns, exposures, batches, cohorts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("subject", help="The subject, as sent in Gateway-Subject")

    def handle(self, *args: Any, subject: str, **options: Any) -> None:
        if not subject.strip():
            raise CommandError("Give a subject, as sent in Gateway-Subject.")
        # Not the subject: the entry would be a new row about them.
        audit_log.record_export("subject", "(not stored)", by="export_subject", at=timezone.now())
        for row in subject_data.export_subject(subject):
            self.stdout.write(json.dumps(row, cls=DjangoJSONEncoder, ensure_ascii=False))
