from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks import rows
from registry.releases import unpublished


class Command(BaseCommand):
    help = "Edit some ops of the draft and print the session cookie of a logged-in admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ops", type=int, help="Number of ops to edit.")

    def handle(self, *args: Any, ops: int, **options: Any) -> None:
        rows.edit_ops(ops)
        unpublished.count_batch()  # a server does this within a minute, or when the list of ops is opened
        self.stdout.write(rows.create_admin_session())
