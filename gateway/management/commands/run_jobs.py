from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from gateway.jobs import runner


class Command(BaseCommand):
    help = "Run the periodic jobs that are due, such as deleting expired records, until no work is left."

    def handle(self, *args: Any, **options: Any) -> None:
        job_names: set[str] = set()
        more = True
        while more:
            results = runner.run_due_jobs(at=timezone.now())
            job_names |= {name for name, _ in results}
            more = any(left for _, left in results)
        self.stdout.write(f"Ran {', '.join(sorted(job_names))}." if job_names else "Nothing is due.")
