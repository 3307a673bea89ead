import json
from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from registry import checks, draft
from registry.changes import Kind
from registry.imports.prose import shown


class Command(BaseCommand):
    help = "Check the draft for blocking problems and copy that a model may misread. Exits with 1 if anything blocks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--op", metavar="PATH", help="check only this op")
        parser.add_argument("--json", action="store_true", help="print a JSON list of findings")

    def handle(self, *args: Any, **options: Any) -> None:
        found = self._of_op(options["op"]) if options["op"] else checks.check_draft()
        if options["json"]:
            self.stdout.write(json.dumps([finding.as_dict() for finding in found], indent=1, ensure_ascii=False))
        else:
            for finding in found:
                self.stdout.write(f"{finding.severity} {finding.rule}: {shown(str(finding))}")
            self.stdout.write(_sum(found))
        if any(finding.blocks for finding in found):
            raise CommandError("The draft cannot be published. Fix what blocks.")

    def _of_op(self, path: str) -> list[checks.Finding]:
        entry = draft.read(Kind.OP, path)
        if entry is None:
            raise CommandError(f"There is no op {shown(path)}.", returncode=2)
        return checks.check_entry(entry, checks.Context.of_draft())


def _sum(found: list[checks.Finding]) -> str:
    counts = Counter(finding.severity for finding in found)
    return f"Blocking: {counts[checks.Severity.BLOCKS]}, warnings: {counts[checks.Severity.WARNS]}."
