"""Turns as rows: what their calls came to, and what the chat service told of them."""

from django.db import models
from django.db.models import F, Q


class Turn(models.Model):
    """The calls of one turn, counted from its events. Counted anew whenever one is added."""

    client = models.CharField(max_length=100)
    session = models.CharField(max_length=200, blank=True)
    turn = models.CharField(max_length=200)
    subject = models.CharField(max_length=200, blank=True)
    time = models.DateTimeField(help_text="Of its first call.")
    # under what, as its last call was served
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True)
    cohort = models.CharField(max_length=130, blank=True)
    model = models.CharField(max_length=40, blank=True, help_text="The model's family.")
    # what was done
    searches = models.PositiveIntegerField(default=0)
    misses = models.PositiveIntegerField(default=0, help_text="Searches that found nothing.")
    helps = models.PositiveIntegerField(default=0, help_text="Reads of a group, an op or an argument.")
    calls = models.PositiveIntegerField(default=0, help_text="Neither rehearsed, repeated nor put off.")
    failed = models.PositiveIntegerField(default=0, help_text="Calls.")
    mended = models.PositiveIntegerField(default=0, help_text="Failed calls that a later one mended.")
    unknown_names = models.PositiveIntegerField(default=0, help_text="Calls and reads of a name that nothing has.")
    repeats = models.PositiveIntegerField(default=0, help_text="Calls and reads made for the third time and more.")

    class Meta:
        ordering = ["-time", "-id"]
        indexes = [
            models.Index(fields=["-time", "-id"], name="turn_newest"),  # the last days' turns
            models.Index(fields=["subject"], name="turn_of_subject", condition=~Q(subject="")),  # what one asks for
        ]
        constraints = [
            models.UniqueConstraint(fields=["client", "session", "turn"], name="turn_once"),
            models.CheckConstraint(
                condition=Q(calls__gte=F("failed"), failed__gte=F("mended"), searches__gte=F("misses")),
                name="turn_failures_within_calls",
            ),
        ]

    def __str__(self) -> str:
        return self.turn


class ToolSelection(models.Model):
    """What the chat service told of one turn: which tools the model was handed, and what it made of them."""

    class Outcome(models.TextChoices):
        SUCCEEDED = "succeeded", "succeeded"
        FAILED = "failed", "failed"
        ABANDONED = "abandoned", "abandoned"
        UNKNOWN = "unknown", "unknown"

    time = models.DateTimeField(help_text="When it was told.")
    client = models.CharField(max_length=100)
    session = models.CharField(max_length=200, blank=True)
    turn = models.CharField(max_length=200)
    subject = models.CharField(max_length=200, blank=True)
    toolset = models.CharField(max_length=32, help_text="The toolset's own id, without its signature.")
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True)
    cohort = models.CharField(max_length=130, blank=True)
    model = models.CharField(max_length=40, blank=True, help_text="The model's family.")
    loaded = models.JSONField(default=list, help_text="Names of the tools that the model was handed.")
    used = models.JSONField(default=list, help_text="Of those, what it called.")
    missed = models.JSONField(default=list, help_text="What it called that was not in the toolset.")
    escalated = models.JSONField(default=list, help_text="What was added for it.")
    tokens = models.PositiveIntegerField(null=True, blank=True, help_text="Of the whole turn, in and out.")
    outcome = models.CharField(max_length=10, choices=Outcome, default=Outcome.UNKNOWN)

    class Meta:
        ordering = ["-time", "-id"]
        indexes = [
            models.Index(fields=["-time", "-id"], name="selection_newest"),  # the last days'
            models.Index(
                fields=["time"], name="selection_with_misses", condition=~Q(missed=[])
            ),  # which were missed most
            models.Index(fields=["subject"], name="selection_of_subject", condition=~Q(subject="")),
        ]
        constraints = [
            # Told twice it is one turn: the later telling counts.
            models.UniqueConstraint(fields=["client", "session", "turn"], name="selection_once"),
        ]

    def __str__(self) -> str:
        return self.turn
