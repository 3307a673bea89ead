import json
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from benchmarks import rows
from registry import catalogs, counting


class Command(BaseCommand):
    help = "Fill an empty database for a benchmark and print, as JSON, its key, its tasks and how long things took."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ops", type=int, help="How many synthetic ops to publish beside the two that run.")

    def handle(self, *args: Any, ops: int, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        rows.make_ops(ops)
        started = time.perf_counter()
        rows.publish()
        published = time.perf_counter()
        catalogs.forget()
        catalogs.follow()  # with all that a catalog is made ready with
        loaded = time.perf_counter()
        while counting.fill():  # else the servers would do that beside what is measured
            pass
        seconds = {"publish_s": published - started, "load_s": loaded - published}
        self.stdout.write(json.dumps({"key": rows.make_key(), "tasks": rows.make_tasks(), **seconds}))
