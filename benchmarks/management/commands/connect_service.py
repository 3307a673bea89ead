import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks import imports


class Command(BaseCommand):
    help = "Import the OpenAPI document at an address, and publish its ops, and print the op to call as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", help="Address of the document.")

    def handle(self, *args: Any, url: str, **options: Any) -> None:
        self.stdout.write(json.dumps({"op": imports.connect_service(url)}))
