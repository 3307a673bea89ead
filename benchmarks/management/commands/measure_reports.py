import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks import reports


class Command(BaseCommand):
    help = "Fill a database with synthetic events and print how long each report takes, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("events", type=int, help="Number of events to create.")

    def handle(self, *args: Any, events: int, **options: Any) -> None:
        self.stdout.write(json.dumps(reports.measure_reports(events)))
