from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks import rows
from registry import counting


class Command(BaseCommand):
    help = "Edit some ops of the draft and print the cookie of an admin who has logged in."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ops", type=int, help="How many to edit.")

    def handle(self, *args: Any, ops: int, **options: Any) -> None:
        rows.edit(ops)
        counting.fill()  # as a server does within a minute, and whoever asks for the list of ops at once
        self.stdout.write(rows.make_session())
