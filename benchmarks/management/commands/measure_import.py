import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks import imports


class Command(BaseCommand):
    help = "Map and import a generated OpenAPI document, and print how long each takes, as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("operations", type=int, help="Number of operations.")

    def handle(self, *args: Any, operations: int, **options: Any) -> None:
        self.stdout.write(json.dumps(imports.measure_import(operations)))
