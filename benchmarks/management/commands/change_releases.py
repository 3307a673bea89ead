import json
import os
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks import mixing


class Command(BaseCommand):
    help = "Publish and roll back every second while a server of this database is asked for help; print JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", help="Of the server, which has to listen. Its key stands in BENCHMARK_KEY.")
        parser.add_argument("seconds", type=float)

    def handle(self, *args: Any, url: str, seconds: float, **options: Any) -> None:
        headers = {"Authorization": f"Bearer {os.environ['BENCHMARK_KEY']}"}
        self.stdout.write(json.dumps(mixing.run(url, headers, seconds).as_dict()))
