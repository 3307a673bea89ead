from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

import orjson
from django.core.management.base import BaseCommand

from benchmarks import data_flow, figures


class Command(BaseCommand):
    help = "Measure what the rules of data flow cost, on the demo workspace."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print the figures as JSON, and nothing else.")

    def handle(self, *args: Any, json: bool, **options: Any) -> None:
        measured = data_flow.measure_data_flow()
        if json:
            self.stdout.write(orjson.dumps([asdict(figure) for figure in measured]).decode())
        else:
            self.stdout.write(figures.format_table(measured))
