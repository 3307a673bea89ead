"""Turns, what chat services report about them, what end users think of them, and filters for their lists."""

from collections.abc import Mapping

from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from core.text.display import format_time

TURN_WITH_PARAMETER = "with"  # query parameter of the list of turns


class Turn(models.Model):
    """Figures of one turn, counted from its events and recounted when one is added."""

    client = models.CharField(max_length=100)
    session = models.CharField(max_length=200, blank=True)
    turn = models.CharField(max_length=200)
    subject = models.CharField(max_length=200, blank=True)
    time = models.DateTimeField(help_text="Time of the first call.")
    # what served the event that was stored last
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True)
    cohort = models.CharField(max_length=130, blank=True)
    model = models.CharField(max_length=40, blank=True, help_text="The model's family.")
    # figures
    searches = models.PositiveIntegerField(default=0)
    misses = models.PositiveIntegerField(default=0, help_text="Searches without a result.")
    helps = models.PositiveIntegerField(
        "help reads", default=0, help_text="Help reads of a group, an op or an argument."
    )
    calls = models.PositiveIntegerField(default=0, help_text="Excludes dry runs, replays and deferred calls.")
    failed = models.PositiveIntegerField(default=0, help_text="Failed calls.")
    repaired = models.PositiveIntegerField(default=0, help_text="Failed calls that a later call repaired.")
    unknown_names = models.PositiveIntegerField(default=0, help_text="Calls and help reads of unknown names.")
    repeats = models.PositiveIntegerField(default=0, help_text="Calls and help reads made for at least the third time.")
    is_first_call_ok = models.BooleanField(
        "first call succeeded", null=True, help_text="Empty without a call, and for turns before it was counted."
    )

    class Meta:
        ordering = ["-time", "-id"]
        indexes = [
            models.Index(fields=["-time", "-id"], name="turn_newest"),  # the last days' turns
            models.Index(fields=["subject"], name="turn_of_subject", condition=~Q(subject="")),  # one subject's turns
        ]
        constraints = [
            models.UniqueConstraint(fields=["client", "session", "turn"], name="turn_once"),
            models.CheckConstraint(
                condition=Q(calls__gte=F("failed"), failed__gte=F("repaired"), searches__gte=F("misses")),
                name="turn_failures_within_calls",
            ),
        ]

    def __str__(self) -> str:
        return self.turn

    @property
    def short_name(self) -> str:
        """Whose turn it was, when, and how it went, such as "Turn of ada, 28 Nov, 14:02 CET: 3 calls, 1 failed"."""
        calls = f"{self.calls:,} call{'' if self.calls == 1 else 's'}" if self.calls else "no call"
        outcome = ", ".join(filter(None, [calls, self.describe_failures()]))
        return f"Turn of {self.subject or self.client}, {format_time(self.time)}: {outcome}"

    def describe_failures(self) -> str:
        """Return how many calls failed for good, else how many were repaired; "" if none failed."""
        if failed := self.failed - self.repaired:
            return f"{failed:,} failed"
        return f"{self.repaired:,} repaired" if self.repaired else ""


class ToolSelection(models.Model):
    """A chat service's report of one turn: the tools that the model was given, and those that it used."""

    class Outcome(models.TextChoices):
        SUCCEEDED = "succeeded", "succeeded"
        FAILED = "failed", "failed"
        ABANDONED = "abandoned", "abandoned"
        UNKNOWN = "unknown", "unknown"

    time = models.DateTimeField(help_text="When it was reported.")
    client = models.CharField(max_length=100)
    session = models.CharField(max_length=200, blank=True)
    turn = models.CharField(max_length=200)
    subject = models.CharField(max_length=200, blank=True)
    toolset = models.CharField(max_length=32, help_text="The toolset's id, without its signature.")
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True)
    cohort = models.CharField(max_length=130, blank=True)
    model = models.CharField(max_length=40, blank=True, help_text="The model's family.")
    # A database default, because processes of the previous version insert rows without this column.
    selection_kind = models.CharField(
        max_length=10,
        blank=True,
        default="",
        db_default="",
        help_text="How the tools of the legacy surface were selected: static or dynamic.",
    )
    selection = models.JSONField(null=True, blank=True, help_text="The selection, as toolset answered it.")
    loaded = models.JSONField(default=list, help_text="Names of the tools that the model was given.")
    used = models.JSONField(default=list, help_text="Loaded tools that the model called.")
    missed = models.JSONField(default=list, help_text="Tools that it called but that were not in the toolset.")
    escalated = models.JSONField(default=list, help_text="Tools that were added during the turn.")
    tokens = models.PositiveIntegerField(null=True, blank=True, help_text="Input and output tokens of the whole turn.")
    outcome = models.CharField(max_length=10, choices=Outcome, default=Outcome.UNKNOWN)

    class Meta:
        ordering = ["-time", "-id"]
        indexes = [
            models.Index(fields=["-time", "-id"], name="selection_newest"),  # the last days'
            models.Index(fields=["time"], name="selection_with_misses", condition=~Q(missed=[])),  # most missed tools
            models.Index(fields=["subject"], name="selection_of_subject", condition=~Q(subject="")),
        ]
        constraints = [
            # If a turn is reported twice, the later report counts.
            models.UniqueConstraint(fields=["client", "session", "turn"], name="selection_once"),
        ]

    def __str__(self) -> str:
        return self.turn

    @property
    def short_name(self) -> str:
        """Whose tools they were, and when, such as "Tools of ada, 28 Nov, 14:02 CET: 12 loaded, 3 used"."""
        tools = f"{len(self.loaded):,} loaded, {len(self.used):,} used"
        return f"Tools of {self.subject or self.client}, {format_time(self.time)}: {tools}"


class Feedback(models.Model):
    """What an end user thinks of a turn. If they say it again, the last time counts."""

    class Thumb(models.TextChoices):
        UP = "up", "up"
        DOWN = "down", "down"

    time = models.DateTimeField(help_text="When the user last said it.")
    client = models.CharField(max_length=100)
    session = models.CharField(max_length=200, blank=True)
    turn = models.CharField(max_length=200)
    subject = models.CharField(max_length=200, blank=True)
    thumb = models.CharField(max_length=4, choices=Thumb)
    reason = models.TextField(blank=True, help_text="In the user's words, redacted as Stored contents says.")
    # what served the turn
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True)
    cohort = models.CharField(max_length=130, blank=True)
    model = models.CharField(max_length=40, blank=True, help_text="The model's family.")

    class Meta:
        verbose_name_plural = "feedback"
        ordering = ["-time", "-id"]
        indexes = [
            models.Index(fields=["-time", "-id"], name="feedback_newest"),  # the last days'
            models.Index(fields=["subject"], name="feedback_of_subject", condition=~Q(subject="")),
        ]
        constraints = [
            models.UniqueConstraint(fields=["client", "session", "turn", "subject"], name="feedback_once"),
            models.CheckConstraint(condition=Q(thumb__in=["up", "down"]), name="feedback_is_a_thumb"),
        ]

    def __str__(self) -> str:
        return f"thumbs {self.thumb}"


class TurnWith(models.TextChoices):
    """What a turn can contain. The list of turns can be filtered by these."""

    SEARCH = "search", "A search"
    HELP_READ = "help_read", "A help read"
    CALL = "call", "A call"
    SUCCESS = "success", "A successful call"
    UNKNOWN_NAME = "unknown_name", "An unknown name"
    LOOP = "loop", "A loop"
    THUMB_UP = "thumb_up", "Thumbs up"
    THUMB_DOWN = "thumb_down", "Thumbs down"


def _has_thumb(thumb: Feedback.Thumb) -> Q:
    """Return a condition for turns that a user rated this way."""
    same_turn = {name: OuterRef(name) for name in ("client", "session", "turn")}
    return Q(Exists(Feedback.objects.filter(**same_turn, thumb=thumb)))


TURN_CONDITIONS: Mapping[TurnWith, Q] = {
    TurnWith.SEARCH: Q(searches__gt=0),
    TurnWith.HELP_READ: Q(helps__gt=0),
    TurnWith.CALL: Q(calls__gt=0),
    TurnWith.SUCCESS: Q(calls__gt=F("failed")),
    TurnWith.UNKNOWN_NAME: Q(unknown_names__gt=0),
    TurnWith.LOOP: Q(repeats__gt=0),
    TurnWith.THUMB_UP: _has_thumb(Feedback.Thumb.UP),
    TurnWith.THUMB_DOWN: _has_thumb(Feedback.Thumb.DOWN),
}
