import json
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from registry.evals import comparison, evaluation
from registry.evals.comparison import ComparedCase, EvalComparison, EvalRun
from registry.management import selected_changes
from registry.models import EvalCase
from registry.releases import stored_releases
from registry.text.cleanup import escape_for_terminal

DRAFT = "draft"


class Command(BaseCommand):
    help = (
        "Run the eval cases on the draft or a release, compared with the live release. Exits with 1 if a hit rate falls"
        " by more than GATEWAY_EVAL_MARGIN."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--set", choices=EvalCase.Set.values, help="run only the cases of this set")
        selected_changes.add_only_option(
            parser, "run on the live release with only these entries of the draft, such as onto.task.*"
        )
        parser.add_argument("--release", default=DRAFT, metavar="VERSION", help="run on this release (default: draft)")
        parser.add_argument("--against", metavar="VERSION", help="compare with this release (default: the live one)")
        parser.add_argument("--json", action="store_true", help="print a JSON object with each case")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = options["set"]
        cases = [case for case in evaluation.list_active_cases() if chosen in (None, case.case_set)]
        if not cases:
            raise CommandError("There are no active eval cases to run. manage.py load_catalog loads the shipped ones.")
        if options["only"] and options["release"] != DRAFT:
            raise CommandError("--only selects entries of the draft. Leave out --release.", returncode=2)
        before = _run_on(options["against"], cases) if options["against"] else _run_on_live(cases)
        compared = comparison.compare_runs(cases, _run_on(options["release"], cases, options["only"]), before)
        if options["json"]:
            self.stdout.write(json.dumps(_build_json(compared), indent=1, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_format_lines(compared)))
        if evaluation.exceeds_margin(compared):
            raise CommandError(f"A hit rate fell by more than {settings.GATEWAY_EVAL_MARGIN} points.")


def _run_on(version: str, cases: list[EvalCase], patterns: Sequence[str] = ()) -> EvalRun:
    if version == DRAFT:
        return evaluation.run_on_draft(cases, selected_changes.select_changes(patterns).after if patterns else None)
    try:
        release = stored_releases.find_release(version)
    except stored_releases.UnknownRelease as error:
        raise CommandError(str(error), returncode=2) from None
    return evaluation.run_on_release(release, cases)


def _run_on_live(cases: list[EvalCase]) -> EvalRun | None:
    live = stored_releases.get_live_release()
    return evaluation.run_on_release(live, cases) if live else None


def _format_lines(compared: EvalComparison) -> list[str]:
    lines = []
    for each in compared.sets:
        rates = ", ".join(
            f"{rate.rate:.1%} at {rate.limit}" + ("" if rate.added_points is None else f" ({rate.added_points:+.1f})")
            for rate in each.rates
        )
        lines.append(f"{EvalCase.Set(each.name).label}, {each.count} cases: {rates}")
    lines += [f"lost: {_format_case(each)}" for each in compared.lost]
    lines += [f"won: {_format_case(each)}" for each in compared.won]
    lines += [f"There is no active op {path}." for path in compared.missing_ops]
    return lines


def _format_case(each: ComparedCase) -> str:
    ranks = [str(outcome.rank or "not found") for outcome in (each.before, each.after) if outcome]
    instead = f", found instead: {each.found_instead}" if each.found_instead else ""
    return escape_for_terminal(f"{each.case.request} ({each.case.op}): {' → '.join(ranks)}{instead}")


def _build_json(compared: EvalComparison) -> dict[str, Any]:
    return {
        "sets": compared.as_figures(),
        "missing_ops": list(compared.missing_ops),
        "cases": [
            {
                "request": each.case.request,
                "set": each.case.case_set,
                "op": each.case.op,
                "rank": each.after.rank,
                "rank_before": each.before.rank if each.before else None,
                "found": list(each.after.found),
            }
            for each in compared.cases
        ],
    }
