from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from gateway import jobs


class Command(BaseCommand):
    help = "Run the periodic jobs that are due, such as deleting expired records, until no work is left."

    def handle(self, *args: Any, **options: Any) -> None:
        ran: set[str] = set()
        more = True
        while more:
            done = jobs.run_due(at=timezone.now())
            ran |= {name for name, _ in done}
            more = any(left for _, left in done)
        self.stdout.write(f"Ran {', '.join(sorted(ran))}." if ran else "Nothing is due.")
