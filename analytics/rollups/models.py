"""Daily figures of ops, and how far events are counted into them."""

from datetime import UTC, datetime

from django.db import models
from django.db.models import F, Q

NEVER = datetime(9999, 1, 1, tzinfo=UTC)


class OpDaily(models.Model):
    """Figures of one op or group on one day, under one release, surface, cohort, model family and client.

    `analytics.rollups.rollup_job` adds events to them.
    """

    day = models.DateField(help_text="In UTC.")
    op = models.CharField(
        max_length=200, blank=True, help_text="The op or group; empty for searches and unknown names."
    )
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True, default="", db_default="")
    cohort = models.CharField(max_length=130, blank=True, default="", db_default="")
    model = models.CharField(max_length=40, blank=True, default="", db_default="", help_text="The model's family.")
    client = models.CharField(
        max_length=100, blank=True, default="", db_default="", help_text="Empty on days before clients were counted."
    )
    is_settled = models.BooleanField(default=True, editable=False)  # always; the next release removes it
    # calls, and failed calls by code
    calls = models.PositiveIntegerField(default=0, help_text="Excludes dry runs, replays and deferred calls.")
    invalid = models.PositiveIntegerField(default=0, help_text="VALIDATION_ERROR.")
    denied = models.PositiveIntegerField(default=0, help_text="PERMISSION_DENIED.")
    not_found = models.PositiveIntegerField(default=0, help_text="NOT_FOUND.")
    conflict = models.PositiveIntegerField(default=0, help_text="CONFLICT.")
    internal = models.PositiveIntegerField(default=0, help_text="INTERNAL.")
    repaired = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Failed calls that a later call in the turn repaired."
    )
    unknown_names = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Calls and help reads of unknown names."
    )
    latency_ms = models.FloatField("latency (ms)", default=0, help_text="Sum over all calls.")
    field_errors = models.JSONField(
        default=list, blank=True, help_text="[[pointer, code, times], …], most frequent first; * stands for an index."
    )
    # help
    short_reads = models.PositiveIntegerField(default=0)
    full_reads = models.PositiveIntegerField(default=0)
    arg_reads = models.PositiveIntegerField(default=0, verbose_name="reads of one argument")
    list_reads = models.PositiveIntegerField(default=0, help_text="Help reads of a group.")
    # search
    searches = models.PositiveIntegerField(default=0)
    misses = models.PositiveIntegerField(default=0, help_text="Searches without a result.")

    class Meta:
        verbose_name = verbose_name_plural = "daily figures"
        ordering = ["-day", "op"]
        indexes = [
            models.Index(fields=["op", "day"], name="op_daily_of_one"),  # one op's last days
        ]
        constraints = [
            # Prevents double counting. Its index also serves the last days of all ops.
            models.UniqueConstraint(
                fields=["day", "op", "release", "surface", "cohort", "model", "client", "is_settled"],
                name="op_daily_once",
            ),
            # Rates must not exceed 1.
            models.CheckConstraint(
                condition=Q(
                    calls__gte=F("invalid") + F("denied") + F("not_found") + F("conflict") + F("internal"),
                    searches__gte=F("misses"),
                ),
                name="op_daily_failures_within_calls",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.op or '-'} on {self.day}"


class SubjectFigures(models.Model):
    """Sums of one subject's calls of one op in one period, under one release, surface, cohort, model family and client.

    What experiments, guardrails and comparisons judge: they compare subjects, because subjects are assigned. A period
    is a UTC day, divided where the rollout changed, so that what was before a change is never counted with what was
    after it. `analytics.rollups.rollup_job` adds events to them.
    """

    begin = models.DateTimeField(help_text="Start of the day in UTC, or of the last change of the rollout within it.")
    subject = models.CharField(max_length=200)
    op = models.CharField(max_length=200, blank=True, help_text="Empty for searches and unknown names.")
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True)
    cohort = models.CharField(max_length=130, blank=True)
    model = models.CharField(max_length=40, blank=True, help_text="The model's family.")
    client = models.CharField(max_length=100, blank=True)
    is_settled = models.BooleanField(default=True, editable=False)  # always; the next release removes it
    calls = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    invalid = models.PositiveIntegerField(default=0)
    repaired = models.PositiveIntegerField(default=0)
    unknown_names = models.PositiveIntegerField(default=0)
    helps = models.PositiveIntegerField(default=0)
    searches = models.PositiveIntegerField(default=0)
    misses = models.PositiveIntegerField(default=0)
    latency_ms = models.FloatField(default=0)

    class Meta:
        verbose_name = verbose_name_plural = "figures of subjects"
        ordering = ["-begin", "subject"]
        indexes = [models.Index(fields=["subject"], name="subject_figures_of_one")]
        constraints = [
            models.UniqueConstraint(
                fields=["begin", "cohort", "subject", "op", "release", "surface", "model", "client", "is_settled"],
                name="subject_figures_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.subject} from {self.begin}"


class Rollup(models.Model):
    """The mark that says which events are counted. The run that moves it also writes, so no event is counted twice."""

    name = models.CharField(max_length=40, unique=True)
    last_id = models.BigIntegerField(
        "last event", default=0, db_default=0, help_text="Events up to this one are counted, apart from the gaps."
    )
    gaps = models.JSONField(
        default=list, db_default=[], blank=True, help_text="[[first id, last id, when they were found missing], …]."
    )
    counted_at = models.DateTimeField(help_text="When events were last counted.")
    # For processes of the version before, which have nothing to count before this time; the next release removes it.
    settled_until = models.DateTimeField(default=NEVER, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
