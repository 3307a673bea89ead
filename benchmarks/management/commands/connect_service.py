import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks import imports


class Command(BaseCommand):
    help = "Import what is at an address, publish its ops, and print the op to call as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("url", help="Address of an OpenAPI document, or of an MCP server.")
        parser.add_argument("--mcp", action="store_true", help="It is an MCP server.")

    def handle(self, *args: Any, url: str, mcp: bool, **options: Any) -> None:
        connect = imports.connect_mcp_server if mcp else imports.connect_service
        self.stdout.write(json.dumps({"op": connect(url)}))
