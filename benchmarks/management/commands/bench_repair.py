from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import BaseCommand

from benchmarks import figures, repair


class Command(BaseCommand):
    help = "Replay malformed calls: how many succeed by what their errors say, and what an error costs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("corpus", type=Path, nargs="?", default=repair.CORPUS, help="A call a line, as JSON.")
        parser.add_argument("--json", action="store_true", help="Print the figures as JSON, and nothing else.")
        parser.add_argument("--failures", action="store_true", help="Print each call that was not repaired.")

    def handle(self, *args: Any, corpus: Path, json: bool, failures: bool, **options: Any) -> None:
        results = list(repair.replay_corpus(corpus))
        by_tool_name = list(repair.replay_corpus(corpus, use_tool_names=True))
        measured = repair.build_figures(results, by_tool_name)
        if json:
            self.stdout.write(orjson.dumps([asdict(figure) for figure in measured]).decode())
            return
        self.stdout.write(figures.format_table(measured))
        for kind, (repaired, total) in repair.count_by_kind(results).items():
            self.stdout.write(f"{kind}: {repaired} of {total}")
        for result in (result for result in results if failures and not result.is_repaired):
            self.stdout.write(f"\n{result.id}: {result.problem}")
            for number, call in enumerate(result.calls):
                self.stdout.write(f"  {call}")
                if number < len(result.errors):
                    self.stdout.write(f"    {result.errors[number]['error']}")
