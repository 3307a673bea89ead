import json
from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from registry import checks, draft
from registry.changes import Kind
from registry.imports.prose import shown


class Command(BaseCommand):
    help = "Check the draft: what would break serving, what a model may misread. Exits with 1 where something blocks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--op", metavar="PATH", help="only this op")
        parser.add_argument("--json", action="store_true", help="a list of objects, for programs")

    def handle(self, *args: Any, **options: Any) -> None:
        found = self._of_op(options["op"]) if options["op"] else checks.check_draft()
        if options["json"]:
            self.stdout.write(json.dumps([finding.as_dict() for finding in found], indent=1, ensure_ascii=False))
        else:
            for finding in found:
                self.stdout.write(f"{finding.severity} {finding.rule}: {shown(str(finding))}")
            self.stdout.write(_sum(found))
        if any(finding.blocks for finding in found):
            raise CommandError("The draft cannot be published as it stands.")

    def _of_op(self, path: str) -> list[checks.Finding]:
        entry = draft.read(Kind.OP, path)
        if entry is None:
            raise CommandError(f"There is no op {shown(path)}.", returncode=2)
        return checks.check_entry(entry, checks.Context.of_draft())


def _sum(found: list[checks.Finding]) -> str:
    counts = Counter(finding.severity for finding in found)
    return f"{counts[checks.Severity.BLOCKS]} block, {counts[checks.Severity.WARNS]} warn."
