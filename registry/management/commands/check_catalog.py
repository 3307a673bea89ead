import json
from argparse import ArgumentParser
from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from registry import checks
from registry.drafts import draft
from registry.management import selected_changes
from registry.text.cleanup import escape_for_terminal


class Command(BaseCommand):
    help = "Check the draft for blocking problems and copy that a model may misread. Exits with 1 if anything blocks."

    def add_arguments(self, parser: ArgumentParser) -> None:
        selected_changes.add_only_option(
            parser, "check the live release with only these entries of the draft, such as onto.task.*"
        )
        parser.add_argument("--op", metavar="PATH", help="check only this op")
        parser.add_argument("--json", action="store_true", help="print a JSON list of findings")

    def handle(self, *args: Any, **options: Any) -> None:
        patterns = options["only"]
        if patterns and options["op"]:
            raise CommandError("Give --op or --only, not both.", returncode=2)
        content = selected_changes.select_changes(patterns).after if patterns else None
        findings = self._check_op(options["op"]) if options["op"] else checks.check_draft(content)
        if options["json"]:
            self.stdout.write(json.dumps([finding.as_dict() for finding in findings], indent=1, ensure_ascii=False))
        else:
            for finding in findings:
                self.stdout.write(f"{finding.severity} {finding.rule}: {escape_for_terminal(str(finding))}")
            self.stdout.write(_format_totals(findings))
        if any(finding.is_blocking for finding in findings):
            raise CommandError("The draft cannot be published. Fix what blocks.")

    def _check_op(self, path: str) -> list[checks.Finding]:
        entry = draft.read_op_entry(path)
        if entry is None:
            raise CommandError(f"There is no op {escape_for_terminal(path)}.", returncode=2)
        return [*checks.find_unrunnable_ops([entry]), *checks.check_entry(entry, checks.CheckContext.from_draft())]


def _format_totals(findings: list[checks.Finding]) -> str:
    counts = Counter(finding.severity for finding in findings)
    blocking, warnings, hints = (counts[severity] for severity in checks.Severity)
    return f"Blocking: {blocking}, warnings: {warnings}, hints: {hints}."
