import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks import polls


class Command(BaseCommand):
    help = "Verify many keys, and print the time of polls, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("keys", type=int, help="Number of keys.")

    def handle(self, *args: Any, keys: int, **options: Any) -> None:
        self.stdout.write(json.dumps(polls.measure_polls(keys)))
