"""How long the page of an experiment takes, and the job that computes its figures, for very many users.

The page reads stored figures, so it does not depend on how many calls there were. The job sums them in the database.
"""

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from analytics.experiments import lifecycle, results
from analytics.experiments.arm_plans import ArmPlan
from analytics.flags import FlagKey
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Assignment
from analytics.rollups.models import SubjectFigures
from benchmarks.figures import compute_percentile
from benchmarks.run_size import shrink

CALLS = 100  # of a user
DAYS = 14
ROWS = 7  # of a user: days with calls
ROUNDS = 20
BATCH = 20_000


def measure_experiment(subjects: int) -> dict[str, Any]:
    """Store the figures of an experiment with so many users, and return {calls, figures_s, guardrails_s, page_ms}."""
    now = timezone.now()
    start = now - timedelta(days=DAYS)
    planned = Experiment(name="bench", flag_id=FlagKey.SURFACE, guardrails=["failure_rate"])
    arms = [ArmPlan("legacy"), ArmPlan("hybrid")]
    experiment = lifecycle.create_experiment(planned, arms, by="bench", at=start)
    lifecycle.start(experiment, by="bench", at=start)
    experiment.refresh_from_db()
    names = [arm.name for arm in experiment.list_arms()]
    for numbers in _split_into_batches(subjects):
        Assignment.objects.bulk_create(
            Assignment(flag="bench", variant="bench", cohort=names[n % 2], subject=f"user-{n}", time=start)
            for n in numbers
        )
        SubjectFigures.objects.bulk_create(
            SubjectFigures(
                begin=start + timedelta(days=day * 2),
                subject=f"user-{n}",
                op=f"onto.op{(n + day) % 20}",
                cohort=names[n % 2],
                model="claude",
                client="chat",
                is_settled=True,
                calls=CALLS // ROWS,
                failed=(n * 7 + day) % 3,
            )
            for n in numbers
            for day in range(ROWS)
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    harm_s = _time(lambda: results.is_harmful(experiment, now))
    figures_s = _time(lambda: results.update_results(experiment, now))
    return {
        "calls": subjects * ROWS * (CALLS // ROWS),
        "guardrails_s": harm_s,
        "figures_s": figures_s,
        "page_ms": _measure_page(experiment),
    }


def _measure_page(experiment: Experiment) -> float:
    """Return the 95th percentile of the page's time in milliseconds."""
    browser = Client(SERVER_NAME="localhost")
    browser.force_login(User.objects.create_superuser("bench-pm"))
    url = reverse("admin:analytics_experiment_change", args=[experiment.pk])
    if browser.get(url).status_code != 200:  # also compiles the templates
        raise RuntimeError("The page of the experiment does not open.")
    return compute_percentile([_time(lambda: browser.get(url)) * 1_000 for _ in range(shrink(ROUNDS))], 95)


def _split_into_batches(subjects: int) -> Iterator[range]:
    for begin in range(0, subjects, BATCH):
        yield range(begin, min(begin + BATCH, subjects))


def _time(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
