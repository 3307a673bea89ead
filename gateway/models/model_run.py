"""Runs of eval cases through a language model."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from core.background.leases import LeasedRow
from core.llm import Tier
from registry.models import EvalCase

MAX_CASES = 500  # of one run: its thread shares the process with those of calls


class ModelRun(LeasedRow):
    """Eval cases that a model works on with the three tools: what it called, and whether that was right."""

    class State(models.TextChoices):
        RUNNING = "running", "running"
        DONE = "done", "done"
        STOPPED = "stopped", "stopped"
        FAILED = "failed", "failed"

    class Target(models.TextChoices):
        DRAFT = "draft", "the draft"
        LIVE = "live", "the live release"

    target = models.CharField(
        "run on", max_length=10, choices=Target, default=Target.DRAFT, help_text="The copy that the model reads."
    )
    tier = models.CharField(
        max_length=10,
        choices=[(tier.value, tier.value) for tier in Tier],
        default=Tier.MAIN.value,
        help_text="main is LLM_MODEL, fast is LLM_FAST_MODEL.",
    )
    case_set = models.CharField("set", max_length=10, choices=EvalCase.Set, blank=True, help_text="Empty: all sets.")
    tag = models.CharField(max_length=60, blank=True, help_text="Only cases with this tag. Empty: all.")
    case_limit = models.PositiveIntegerField(
        "cases",
        default=20,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_CASES)],
        help_text="Maximum number of cases, spread over the ops. Each case takes several requests to the model.",
    )
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING, editable=False)
    version = models.CharField(max_length=64, blank=True, editable=False, help_text="Of the copy that the model read.")
    model = models.CharField(max_length=200, blank=True, editable=False, help_text="The model's name.")
    case_count = models.PositiveIntegerField(default=0, editable=False)
    results = models.JSONField(default=list, editable=False, help_text="See gateway.model_evals.conversation.")
    dollars = models.DecimalField(max_digits=12, decimal_places=6, default=0, editable=False)
    error = models.CharField(max_length=500, blank=True, editable=False)
    created_by = models.CharField(max_length=150, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = "eval with a model"
        verbose_name_plural = "evals with a model"
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["running", "done", "stopped", "failed"]), name="model_run_state_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model or self.tier} on {self.get_target_display()}, {self.created_at:%Y-%m-%d %H:%M}"
