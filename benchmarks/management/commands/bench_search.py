from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from benchmarks import figures, search


class Command(BaseCommand):
    help = "Measure search on a set of tools and queries: recall, ranks, time and memory."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="Folder with tools.jsonl and queries.jsonl, plain or gzipped.")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        try:
            self.stdout.write(figures.format_table(search.measure_search(folder)))
        except search.MissingSearchSet as error:
            raise CommandError(str(error)) from None
