import json
import os
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks import mixing


class Command(BaseCommand):
    help = "Publish and roll back every second while sending help requests to a server on this database; print JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", help="URL of the running server. BENCHMARK_KEY has its API key.")
        parser.add_argument("seconds", type=float, help="How long to run.")

    def handle(self, *args: Any, url: str, seconds: float, **options: Any) -> None:
        headers = {"Authorization": f"Bearer {os.environ['BENCHMARK_KEY']}"}
        self.stdout.write(json.dumps(mixing.check_release_mixing(url, headers, seconds).to_dict()))
