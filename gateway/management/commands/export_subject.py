import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.serializers.json import DjangoJSONEncoder

from gateway import subjects


class Command(BaseCommand):
    """Print all that the gateway keeps of one end user."""

    help = "Print what is kept of a subject, as JSON, a row a line: events, turns, exposures, batches, cohorts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("subject", help="As Gateway-Subject names it")

    def handle(self, *args: Any, subject: str, **options: Any) -> None:
        if not subject.strip():
            raise CommandError("Name a subject, as Gateway-Subject does.")
        for row in subjects.export(subject):
            self.stdout.write(json.dumps(row, cls=DjangoJSONEncoder, ensure_ascii=False))
