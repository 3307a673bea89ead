from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from analytics.events.models import OperationEvent
from analytics.rollups import rollup_job


class Command(BaseCommand):
    help = "Count the daily figures again on all days whose events are complete, such as after an upgrade."

    def handle(self, *args: Any, **options: Any) -> None:
        at = timezone.now()
        oldest: datetime | None = OperationEvent.objects.order_by("time").values_list("time", flat=True).first()
        if oldest is None:
            raise CommandError("There are no events to count.")
        # Of the oldest day, some events may have been deleted.
        kept_since = at.date() - timedelta(days=settings.GATEWAY_EVENT_DAYS - 1)
        first = max(kept_since, oldest.date() + timedelta(days=1))
        rollup_job.recount_from(first, at)
        self.stdout.write(f"Counted the figures again from {first:%-d %B %Y} on.")
