import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from analytics.experiments import arms_file
from analytics.experiments.arms_file import InvalidArms


class Command(BaseCommand):
    """Judge arms of experiments whose figures are in a file, with the statistics of the pages."""

    help = (
        "Compare arms of experiments, given as a JSON list in a file, and print the results as a JSON list."
        " docs/experiments.md describes both."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="JSON file: metric, alpha, tuning, sides, arms and weights")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            entries = json.loads(file.read_bytes())
            results = arms_file.judge_entries(entries)
        except OSError as error:
            raise CommandError(f"{file} could not be read: {error.strerror}.") from None
        except InvalidArms as error:
            raise CommandError(str(error)) from None
        except ValueError as error:  # also text that is not UTF-8
            raise CommandError(f"{file} is not JSON: {error}.") from None
        self.stdout.write(json.dumps(results, indent=1))
