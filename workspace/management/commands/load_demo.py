"""manage.py load_demo: the demo workspace, once."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from workspace import demo


class Command(BaseCommand):
    """Adds what is missing and touches nothing else, so it is safe to run at every start."""

    help = "Loads the demo workspace; rows that exist, edited or deleted ones too, are left as they are."

    def handle(self, **_: Any) -> None:
        added = demo.load(at=timezone.now())
        if not any(added.values()):
            self.stdout.write("The demo workspace is there already; nothing was changed.")
            return
        counts = ", ".join(f"{number} {name if number > 1 else name[:-1]}" for name, number in added.items() if number)
        self.stdout.write(f"Added to the demo workspace of {demo.DEMO_SUBJECT}: {counts}.")
