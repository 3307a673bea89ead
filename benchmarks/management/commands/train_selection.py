from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from django.core.management.base import BaseCommand

from benchmarks import selection_training
from benchmarks.selection import SelectedTurn
from gateway.toolset.selection import turn_model


class Command(BaseCommand):
    help = "Train the model of turns on the labelled conversations, or judge it on sets that it was not trained on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--cross-validate",
            action="store_true",
            help="Leave out one set of conversations at a time and print how its tools are selected. Writes no model.",
        )

    def handle(self, *args: Any, cross_validate: bool, **options: Any) -> None:
        lines = selection_training.read_lines()
        if not cross_validate:
            model = selection_training.train(list(selection_training.read_training_turns(lines)))
            model.save(turn_model.PATH, selection_training.compute_digest(lines))
            self.stdout.write(f"{len(model.row_by_feature):,} features, {turn_model.PATH.stat().st_size:,} bytes")
            return
        turns = list(selection_training.cross_validate(lines))
        kinds: list[Callable[[SelectedTurn], str]] = [
            lambda turn: turn.conversation.rstrip("0123456789"),
            lambda turn: turn.language,
            lambda turn: turn.intent,
            lambda turn: "continues" if turn.is_elliptic else "alone",
            lambda _: "all",
        ]
        for kind in kinds:
            for name in dict.fromkeys(map(kind, turns)):
                self.stdout.write(_describe(name, [turn for turn in turns if kind(turn) == name]))
        for turn in turns:
            is_wrong_read = turn.intent == "read" and turn.writes
            if not turn.is_complete or is_wrong_read:
                problem = f"lacks {', '.join(turn.missing)}" if turn.missing else "gets writes"
                self.stdout.write(f"{turn.conversation} {turn.intent} {problem}: {turn.message}")


def _describe(name: str, turns: Sequence[SelectedTurn]) -> str:
    reads = [turn for turn in turns if turn.intent == "read"]
    complete = sum(turn.is_complete for turn in turns) / len(turns)
    without_writes = sum(not turn.writes for turn in reads) / max(len(reads), 1)
    fewer = 1 - sum(turn.tools for turn in turns) / sum(turn.context_tools for turn in turns)
    whole = sum(turn.is_whole for turn in turns) / len(turns)
    return (
        f"{name}: {len(turns)} turns, complete {complete:.3f}, {len(reads)} reads without writes {without_writes:.3f},"
        f" fewer tools {fewer:.3f}, tokens {median(turn.tokens for turn in turns):.0f}, whole {whole:.3f}"
    )
