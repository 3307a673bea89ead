import json
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from benchmarks import rows
from registry.catalog import cache
from registry.releases import unpublished

LOAD_ROUNDS = 3


class Command(BaseCommand):
    help = "Fill an empty database for a benchmark and print its API key, task ids and timings as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ops", type=int, help="Number of synthetic ops to publish besides the four real ones.")

    def handle(self, *args: Any, ops: int, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        rows.create_ops(ops)
        started = time.perf_counter()
        rows.publish_draft()
        publish_seconds = time.perf_counter() - started
        load_seconds = [_time_load() for _ in range(LOAD_ROUNDS)]
        while unpublished.count_batch():  # otherwise the servers would count tokens during the measurement
            pass
        seconds = {"publish_s": publish_seconds, "load_s": load_seconds}
        self.stdout.write(json.dumps({"key": rows.create_api_key(), "tasks": rows.create_tasks(), **seconds}))


def _time_load() -> float:
    """Return the seconds to load the live release as a new process does, with its search index."""
    cache.clear_cache()
    started = time.perf_counter()
    cache.refresh_live()
    return time.perf_counter() - started
