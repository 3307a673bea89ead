import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks import rollups


class Command(BaseCommand):
    help = "Write a few minutes of events at 1,000 a second, and print the CPU time to roll up each, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("users", type=int, help="Number of users; 1 for calls of nobody.")

    def handle(self, *args: Any, users: int, **options: Any) -> None:
        self.stdout.write(json.dumps(rollups.measure_rollups(users)))
