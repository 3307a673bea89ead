from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

import orjson
from django.core.management.base import BaseCommand

from benchmarks import answers, figures


class Command(BaseCommand):
    help = "Count the tokens of answers on the demo workspace."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print the figures as JSON, and nothing else.")
        parser.add_argument("--examples", action="store_true", help="Print the tokens of each example's result.")

    def handle(self, *args: Any, json: bool, examples: bool, **options: Any) -> None:
        measured = answers.measure_answers()
        if json:
            self.stdout.write(orjson.dumps([asdict(figure) for figure in measured]).decode())
            return
        self.stdout.write(figures.format_table(measured))
        for title, cost in sorted(answers.count_examples(), key=lambda each: -each[1]) if examples else ():
            self.stdout.write(f"{cost:6,}  {title}")
