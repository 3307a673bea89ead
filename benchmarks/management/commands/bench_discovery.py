from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

import orjson
from django.core.management.base import BaseCommand

from benchmarks import discovery, evals, figures
from benchmarks.run_size import shrink
from registry.catalog import cache
from registry.models import Release
from registry.releases import stored_releases

OTHER_TOOLS = 4_000


class Command(BaseCommand):
    help = "Measure the way from a request to the right call: on the live catalog, and among thousands of other tools."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print the figures as JSON, and nothing else.")

    def handle(self, *args: Any, json: bool, **options: Any) -> None:
        catalog = cache.get_live_catalog()
        content = stored_releases.load_content(Release.objects.get(version=catalog.version))
        measured = [
            *discovery.measure_discovery(catalog),
            *discovery.measure_discovery(discovery.add_tools(content, shrink(OTHER_TOOLS)), name="discovery.4k"),
            discovery.measure_plain_requests(catalog),
            *evals.measure_evals(catalog),
        ]
        if json:
            self.stdout.write(orjson.dumps([asdict(figure) for figure in measured]).decode())
        else:
            self.stdout.write(figures.format_table(measured))
