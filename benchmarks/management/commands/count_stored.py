import json
from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand
from django.db import connection
from django.db.models import Count, Sum
from django.utils import timezone

from analytics.events.models import OperationEvent
from analytics.rollups import rollup_job
from analytics.rollups.models import OpDaily
from benchmarks.soak.calls import EventKind

SIZE_QUERIES = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}


class Command(BaseCommand):
    help = "Print how many events a database stores, by kind, its daily figures, its rows and its size, as JSON."

    def handle(self, *args: Any, **options: Any) -> None:
        rollup_job.catch_up(timezone.now())
        groups = OperationEvent.objects.order_by().values_list("type", "source", "status", "replayed")
        sums = OpDaily.objects.aggregate(*map(Sum, ("calls", "invalid", "searches")))
        with connection.cursor() as cursor:
            cursor.execute(SIZE_QUERIES[connection.vendor])
            [size] = cursor.fetchone()
        rows = {model._meta.label: model._default_manager.count() for model in apps.get_models()}
        stored = {
            "events": {str(EventKind(*kind)): number for *kind, number in groups.annotate(number=Count("id"))},
            "figures": {name.removesuffix("__sum"): value or 0 for name, value in sums.items()},
            "rows": {name: number for name, number in rows.items() if number},
            "megabytes": round(size / 1e6, 1),
        }
        self.stdout.write(json.dumps(stored))
