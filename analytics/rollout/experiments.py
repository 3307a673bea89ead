"""Experiments: arms of equal users on a flag, beside each other, until somebody or a guardrail ends it.

An arm is a cohort. So calls, exposures and *Who gets this?* treat arms as any cohort, and experiments on one flag
exclude each other as cohorts do: the first that matches a subject decides.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from analytics.rollout.models import Cohort, Flag, cohort_name_validator

MAX_STEP_HOURS = 24 * 14


class Experiment(models.Model):
    """What is tried on whom, and how it is judged. While it runs, only its note, owner and hypothesis can change."""

    class State(models.TextChoices):
        DRAFT = "draft", "draft"
        RUNNING = "running", "running"
        STOPPED = "stopped", "stopped"
        DECIDED = "decided", "decided"

    class Decision(models.TextChoices):
        SHIP = "ship", "ship"
        DROP = "drop", "drop"

    name = models.CharField(
        max_length=30, unique=True, validators=[cohort_name_validator], help_text="Such as shorter-task-copy."
    )
    hypothesis = models.TextField(
        max_length=1_000, blank=True, help_text="What should get better, for whom, and why you think so."
    )
    flag = models.ForeignKey(Flag, on_delete=models.PROTECT, related_name="experiments")
    owner = models.CharField(max_length=150, blank=True, help_text="Who decides, by user name.")
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT, editable=False)
    share = models.DecimalField(
        max_digits=5,
        decimal_places=2,
        default=100,
        validators=[MinValueValidator(Decimal("0.02")), MaxValueValidator(100)],
        help_text="Percent of the matching users that are in it, divided among the arms.",
    )
    # how it is judged
    primary_metric = models.CharField(max_length=40, default="failure_rate")
    smallest_effect = models.FloatField(
        "smallest effect worth knowing",
        default=20,
        validators=[MinValueValidator(0.1), MaxValueValidator(1_000)],
        help_text="In percent of the metric: 20 finds a failure rate of 10% that becomes 8% or 12%.",
    )
    guardrails = models.JSONField(
        default=list, blank=True, help_text="Metrics that end it as soon as they are clearly worse: a list of names."
    )
    signals = models.JSONField(
        default=list, blank=True, help_text="Metrics that hold the next step while they are clearly worse."
    )
    alpha = models.FloatField(default=0.05, editable=False)
    tuning = models.PositiveIntegerField(
        default=400,
        validators=[MinValueValidator(400), MaxValueValidator(10_000_000)],
        help_text="Subjects of all arms at which the interval is tightest (N*). Fixed when it starts.",
    )
    call_limit = models.PositiveIntegerField(
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(1_000_000)],
        help_text="Calls of one subject that count in full; of further ones only their share. Fixed when it starts.",
    )
    planned_subjects = models.PositiveIntegerField(default=0, editable=False)
    # a guarded release goes on by itself
    steps = models.JSONField(
        default=list, blank=True, help_text="Percent of the new arm, and hours: [[1, 4], [5, 8], [25, 12], [50, 24]]."
    )
    step = models.PositiveSmallIntegerField(default=0, editable=False)
    step_ends_at = models.DateTimeField(null=True, blank=True, editable=False)
    hold_reason = models.CharField(max_length=300, blank=True, editable=False)
    overridden_steps = models.JSONField(
        default=list,
        blank=True,
        editable=False,
        help_text="Steps that a person let go on: a list of {step, percent, by, at, is_tested, reason, note}.",
    )
    # what happened
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True, editable=False)
    stopped_at = models.DateTimeField(null=True, blank=True, editable=False)
    stop_reason = models.CharField(max_length=500, blank=True, editable=False)
    decision = models.CharField(max_length=10, choices=Decision, blank=True, editable=False)
    decided_at = models.DateTimeField(null=True, blank=True, editable=False)
    note = models.TextField(max_length=1_000, blank=True, help_text="What was decided, and why.")

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state="draft", started_at=None) | ~Q(state="draft") & Q(started_at__isnull=False),
                name="experiment_started_unless_draft",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["draft", "running"], stopped_at=None)
                | Q(state__in=["stopped", "decided"], stopped_at__isnull=False),
                name="experiment_stopped_has_a_time",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_guarded(self) -> bool:
        """Whether it goes on step by step by itself."""
        return bool(self.steps)

    @property
    def is_aa(self) -> bool:
        """Whether all arms get the same, to see that nothing is found where there is nothing."""
        return len({arm.variant for arm in self.arms.all()}) == 1

    @property
    def step_percent(self) -> float | None:
        """Percent of the users that get the new arm in this step; None without steps."""
        return self.steps[self.step][0] if self.steps else None

    def get_end(self, at: datetime) -> datetime:
        """Return the time where its figures end."""
        return self.stopped_at or at

    def list_arms(self) -> list[Cohort]:
        """Return the arms in order, the control first."""
        return sorted(self.arms.all(), key=lambda arm: arm.position or 0)

    def list_audit_values(self) -> dict[str, Any]:
        """Return what the audit log compares."""
        names = ("name", "state", "hypothesis", "owner", "primary_metric", "smallest_effect", "guardrails", "signals")
        fields: dict[str, Any] = {name: getattr(self, name) for name in names}
        more = ("steps", "step", "hold_reason", "stop_reason", "decision", "note", "tuning", "call_limit")
        fields |= {name: getattr(self, name) for name in more}
        arms = {arm.name: f"{arm.variant}, weight {arm.weight}" for arm in self.list_arms()}
        return fields | {"flag": self.flag_id, "share": float(self.share), "arms": arms}


def build_ended_arm_filter(prefix: str = "") -> Q:
    """Return the condition of arms of an experiment that is over, but for those that were shipped to a cohort.

    `prefix` leads to the cohort: "cohorts__".
    """
    ended = [Experiment.State.STOPPED, Experiment.State.DECIDED]
    return Q(**{f"{prefix}is_on": False, f"{prefix}experiment__state__in": ended})


class ExperimentResult(models.Model):
    """The figures of an experiment at a time: the newest is written again each minute, one an hour is kept."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="results")
    hour = models.DateTimeField(help_text="Start of the hour.")
    time = models.DateTimeField(help_text="When it was computed.")
    # the primary metric of the first arm beside the control, for the band over time
    difference = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    subjects = models.PositiveIntegerField(help_text="Exposed subjects of all arms that count.")
    figures = models.JSONField(null=True, help_text="Everything that the page shows; kept for the newest only.")

    class Meta:
        ordering = ["-hour"]
        constraints = [models.UniqueConstraint(fields=["experiment", "hour"], name="experiment_result_once_an_hour")]

    def __str__(self) -> str:
        return f"{self.experiment} at {self.time}"


def get_step_length(experiment: Experiment) -> timedelta:
    """Return how long the current step is planned to take."""
    return timedelta(hours=experiment.steps[experiment.step][1])
