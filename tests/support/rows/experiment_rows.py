"""Experiments with users who were exposed to their arms, and whose calls failed as a test wants it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from analytics.events.models import OperationEvent
from analytics.experiments import lifecycle
from analytics.experiments.arm_plans import ArmPlan
from analytics.flags import FlagKey
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Assignment
from analytics.rollups.models import OpDaily, SubjectFigures


def create_draft(at: datetime, *, variants: Sequence[str] = ("legacy", "hybrid"), **fields: Any) -> Experiment:
    """Return the draft of an experiment on surfaces."""
    values = {"name": "tools", "flag_id": FlagKey.SURFACE, "guardrails": ["failure_rate"]} | fields
    return lifecycle.create_experiment(Experiment(**values), [ArmPlan(each) for each in variants], by="pm", at=at)


def create_experiment(at: datetime, **fields: Any) -> Experiment:
    """Return an experiment on surfaces that was started."""
    experiment = create_draft(at, **fields)
    lifecycle.start(experiment, by="pm", at=at)
    experiment.refresh_from_db()
    return experiment


def add_users(
    arm: str, at: datetime, *, failures: Sequence[int], calls: int = 10, is_new: bool = True, **fields: Any
) -> None:
    """Add one user for each number of failed calls, out of `calls`, first seen at `at`; or more calls of them."""
    flag, _, _ = arm.partition(":")
    for number, failed in enumerate(failures):
        subject = f"{flag}-{number}"
        if is_new:
            Assignment.objects.create(flag=FlagKey.SURFACE, variant="x", cohort=arm, subject=subject, time=at)
        call = {"type": "exec", "op": "onto.task.get", "tool_name": "get_onto_task", "latency_ms": 1.0, "time": at}
        call |= {"cohort": arm, "subject": subject, "trace_id": "tr_1"}
        failure = {"ok": False, "status": 400, "code": "NOT_FOUND", "reason": "not_found"}
        success = {"ok": True, "status": 200}
        OperationEvent.objects.bulk_create(
            OperationEvent(**call | (failure if each < failed else success) | fields) for each in range(calls)
        )


def add_figures(cohort: str, failures: Sequence[int], *, at: datetime, calls: int = 10, **fields: Any) -> None:
    """Add the figures of a day that a run would count: of a cohort's users, who failed so often out of `calls`."""
    begin = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    values: dict[str, Any] = {"op": "onto.task.get", "cohort": cohort, "is_settled": True} | fields
    SubjectFigures.objects.bulk_create(
        SubjectFigures(subject=f"{cohort}-{number}", begin=begin, calls=calls, failed=failed, **values)
        for number, failed in enumerate(failures)
    )
    OpDaily.objects.create(day=begin.date(), calls=calls * len(failures), invalid=sum(failures), **values)
