import os
import signal
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, OutputWrapper

from benchmarks.surfaces import evaluation_tasks, plan
from benchmarks.surfaces.environment import build_variables
from benchmarks.surfaces.plan import EvaluationPlan, InvalidPlan
from core import llm


class Command(BaseCommand):
    """Runs the evaluation in a separate process with its own settings: the user's database is never opened."""

    help = "Run the same tasks through the chat on each surface, check the rows afterwards and print a table."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--model",
            choices=plan.MODELS,
            default="scripted",
            help=(
                "The scripted model, the same with the bad habits of models (adversary), or the configured model of a "
                "tier (LLM_MODEL or LLM_FAST_MODEL)."
            ),
        )
        parser.add_argument(
            "--surfaces",
            default=",".join(plan.SURFACES),
            help="Separated by commas. The others are compared with the first. Default: all of %(default)s.",
        )
        parser.add_argument("--tasks", default="", help="Names separated by commas. Default: all 26.")
        parser.add_argument("--repeats", type=int, default=plan.DEFAULT_REPEATS, help="Default: %(default)s.")
        parser.add_argument("--parallel", type=int, default=1, help="Sessions at once. Default: %(default)s.")
        parser.add_argument("--max-dollars", type=float, help="Start no more sessions once this much was spent.")
        parser.add_argument("--output", default="", metavar="FILE", help="Also write everything as JSON.")

    def handle(self, **options: Any) -> None:
        evaluation_plan = _build_plan(options)
        if evaluation_plan.model not in plan.STAND_INS and not llm.is_configured():
            raise CommandError(f"--model {evaluation_plan.model} needs LLM_BASE_URL and LLM_MODEL. See .env.example.")
        _require_prices(evaluation_plan)
        # Else only this process would end, and the other would go on and spend money.
        previous = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            with TemporaryDirectory(prefix="gateway-evaluation-") as folder:
                exit_code = _run_process(evaluation_plan, Path(folder), self.stdout)
        finally:
            signal.signal(signal.SIGTERM, previous)
        if exit_code:
            sys.exit(exit_code)


def _run_process(evaluation_plan: EvaluationPlan, folder: Path, stdout: OutputWrapper) -> int:
    """Run the evaluation's process to its end, print its tables and return its exit code."""
    process = subprocess.Popen(  # noqa: S603 - our program
        [sys.executable, "-m", "benchmarks.surfaces", evaluation_plan.to_json()],
        cwd=settings.BASE_DIR,
        env=os.environ | build_variables(evaluation_plan, folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        while True:
            try:
                tables, _ = process.communicate()
                break
            except KeyboardInterrupt:
                continue  # the process also got the signal, and prints its report
    finally:
        process.terminate()
        process.wait()
    stdout.write(tables, ending="")
    return process.returncode


def _require_prices(evaluation_plan: EvaluationPlan) -> None:
    """Refuse a limit in dollars that could never be reached."""
    if evaluation_plan.max_dollars is None or evaluation_plan.model in plan.STAND_INS:
        return
    model = llm.get_endpoint(llm.Tier(evaluation_plan.model)).model
    if not (model.input_price or model.output_price):
        prefix = "LLM_FAST" if evaluation_plan.model == "fast" and settings.LLM_FAST_MODEL else "LLM"
        names = " and ".join(f"{prefix}_DOLLARS_PER_MILLION_{each}_TOKENS" for each in ("INPUT", "OUTPUT"))
        raise CommandError(f"--max-dollars needs the prices of the model. Set {names}.")


def _build_plan(options: dict[str, Any]) -> EvaluationPlan:
    if options["repeats"] < 1 or options["parallel"] < 1:
        raise CommandError("--repeats and --parallel must be at least 1.")
    if options["output"] and not Path(options["output"]).absolute().parent.is_dir():
        raise CommandError(f"--output {options['output']}: there is no such folder.")
    known = tuple(task.name for task in evaluation_tasks.load_tasks())
    try:
        return EvaluationPlan(
            model=options["model"],
            surfaces=plan.parse_surfaces(options["surfaces"]),
            tasks=plan.parse_tasks(options["tasks"], known),
            repeats=options["repeats"],
            parallel=options["parallel"],
            max_dollars=options["max_dollars"],
            output=str(Path(options["output"]).absolute()) if options["output"] else "",
        )
    except InvalidPlan as error:
        raise CommandError(str(error)) from None
