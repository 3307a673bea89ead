from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

import orjson
from django.core.management.base import BaseCommand

from benchmarks import figures, selection


class Command(BaseCommand):
    help = "Select the tools of labelled turns: how many turns have all that they need, and of how many tools."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print the figures as JSON, and nothing else.")
        parser.add_argument(
            "--missing",
            action="store_true",
            help="Print each turn, of those that are not held out, whose first selection lacks a tool.",
        )

    def handle(self, *args: Any, json: bool, missing: bool, **options: Any) -> None:
        measured = selection.measure_selection()
        if json:
            self.stdout.write(orjson.dumps([asdict(figure) for figure in measured]).decode())
            return
        self.stdout.write(figures.format_table(measured))
        for turn in selection.replay_turns() if missing else ():
            if turn.split == selection.DEV and not turn.is_complete:
                self.stdout.write(f"{', '.join(turn.missing)}: {turn.message}")
