"""The process of an evaluation, which manage.py evaluate_surfaces starts: python -m benchmarks.surfaces PLAN."""

import signal
import sys

import django

from benchmarks.surfaces.plan import EvaluationPlan

if __name__ == "__main__":
    django.setup()
    from benchmarks.surfaces.evaluation import run_evaluation  # it imports models

    try:
        sys.exit(run_evaluation(EvaluationPlan.from_json(sys.argv[1])))
    except KeyboardInterrupt:  # before the first session, so there is nothing to report
        sys.exit(128 + signal.SIGINT)
