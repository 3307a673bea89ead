"""What happened. Ops, releases and subjects are named by string: the log blocks no delete."""

from django.db import models
from django.db.models import F, Q

from analytics.rollout.models import Assignment, Cohort, CohortRule, Flag, Subject
from analytics.turns.models import ToolSelection, Turn

__all__ = [
    "Assignment",
    "AuditEntry",
    "Cohort",
    "CohortRule",
    "Flag",
    "OpDaily",
    "OperationEvent",
    "Rollup",
    "Subject",
    "ToolSelection",
    "Turn",
]


class OperationEvent(models.Model):
    """One help, search or exec, as it was answered."""

    class Type(models.TextChoices):
        HELP = "help", "help"
        SEARCH = "search", "search"
        EXEC = "exec", "exec"

    class Source(models.TextChoices):
        API = "api", "API"
        BATCH = "batch", "batch"
        ADMIN = "admin", "admin"  # tried by hand, and never kept: no figure counts it

    class Format(models.TextChoices):
        SHORT = "short", "short"
        FULL = "full", "full"
        ARG = "arg", "one argument"

    time = models.DateTimeField()
    type = models.CharField(max_length=10, choices=Type)
    source = models.CharField(max_length=10, choices=Source, default=Source.API)
    # what was asked for
    op = models.CharField(max_length=200, blank=True, help_text="The canonical op or path; as sent where unknown.")
    tool_name = models.CharField(max_length=128, blank=True)
    group = models.CharField(max_length=60, blank=True)
    entity = models.CharField(max_length=60, blank=True)
    action = models.CharField(max_length=60, blank=True)
    entity_id = models.CharField(max_length=64, blank=True)
    kind = models.CharField(max_length=10, blank=True)
    dry_run = models.BooleanField(default=False)
    # A default in the database: what ran before this column was there still inserts rows.
    format = models.CharField(
        max_length=10, choices=Format, blank=True, default="", db_default="", help_text="What was read of an op's help."
    )
    # how it ended
    ok = models.BooleanField()
    status = models.PositiveSmallIntegerField(help_text="HTTP status.")
    code = models.CharField(max_length=20, blank=True)
    reason = models.CharField(max_length=60, blank=True)
    field_errors = models.JSONField(default=list, blank=True, help_text="[[pointer, code], …]; never the values.")
    replayed = models.BooleanField(default=False)
    result_count = models.PositiveIntegerField(
        null=True, blank=True, help_text="Items that a search, a group or the list of a read had."
    )
    latency_ms = models.FloatField(help_text="Milliseconds.")
    content = models.JSONField(
        null=True,
        blank=True,
        help_text="{args, result}, where GATEWAY_CONTENT_DAYS keeps them; secrets of the schema blacked out.",
    )
    mends = models.BigIntegerField(
        null=True, blank=True, help_text="The id of the failed call before it in the turn that this one mends."
    )
    # under what
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True)
    cohort = models.CharField(
        max_length=130, blank=True, help_text="The cohorts that decided, in the order of their flags."
    )
    model = models.CharField(max_length=40, blank=True, default="", db_default="", help_text="The model's family.")
    # for whom
    client = models.CharField(max_length=100, blank=True)
    key = models.CharField(max_length=20, blank=True, help_text="The key's prefix.")
    subject = models.CharField(max_length=200, blank=True)
    session = models.CharField(max_length=200, blank=True)
    turn = models.CharField(max_length=200, blank=True)
    digest = models.CharField(
        max_length=16, blank=True, default="", db_default="", help_text="The same for the same call within one turn."
    )
    trace_id = models.CharField(max_length=40)

    class Meta:
        ordering = ["-time", "-id"]
        indexes = [
            models.Index(fields=["-time", "-id"], name="event_newest"),  # every list, newest first
            models.Index(fields=["op", "-time"], name="event_by_op"),  # one op's calls
            models.Index(
                fields=["session", "turn"], name="event_by_turn", condition=~Q(session="")
            ),  # one conversation
            # What is blanked once its time is over: hardly anything, mostly.
            models.Index(fields=["time"], name="event_with_content", condition=Q(content__isnull=False)),
            models.Index(fields=["turn"], name="event_of_turn", condition=~Q(turn="")),  # one turn's facts
            # Names that models thought of, which no daily figure keeps.
            models.Index(
                fields=["time"], name="event_of_no_name", condition=Q(reason__in=["unknown_op", "unknown_path"])
            ),
        ]
        constraints = [
            # A failure without a code cannot be counted, a success with one was none.
            models.CheckConstraint(
                condition=Q(ok=True, code="") | (Q(ok=False) & ~Q(code="")), name="event_code_when_failed"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.op or '-'} {self.code or 'ok'}"


class OpDaily(models.Model):
    """What happened to one op, or group, on one day under one release, surface, cohort and family of models.

    Counted from its events by `analytics.rollup`.

    A day's figures are the sum of its rows: what is settled, and what may still change.
    """

    day = models.DateField(help_text="In UTC.")
    op = models.CharField(
        max_length=200, blank=True, help_text="The op or group; empty for searches, and for names that nothing has."
    )
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True, default="", db_default="")
    cohort = models.CharField(max_length=130, blank=True, default="", db_default="")
    model = models.CharField(max_length=40, blank=True, default="", db_default="", help_text="The models' family.")
    is_settled = models.BooleanField(help_text="Off: of the last minutes, counted anew each time.")
    # calls, and how those that failed did
    calls = models.PositiveIntegerField(default=0, help_text="Neither rehearsed, repeated nor put off.")
    invalid = models.PositiveIntegerField(default=0, help_text="VALIDATION_ERROR.")
    denied = models.PositiveIntegerField(default=0, help_text="PERMISSION_DENIED.")
    not_found = models.PositiveIntegerField(default=0, help_text="NOT_FOUND.")
    conflict = models.PositiveIntegerField(default=0, help_text="CONFLICT.")
    internal = models.PositiveIntegerField(default=0, help_text="INTERNAL.")
    mended = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Failed calls that a later one in their turn mended."
    )
    unknown_names = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Calls and reads of a name that nothing has."
    )
    latency_ms = models.FloatField(default=0, help_text="Milliseconds of all calls together.")
    field_errors = models.JSONField(
        default=list, blank=True, help_text="[[pointer, code, times], …], the commonest first; * for an index."
    )
    # help
    short_reads = models.PositiveIntegerField(default=0)
    full_reads = models.PositiveIntegerField(default=0)
    arg_reads = models.PositiveIntegerField(default=0, verbose_name="reads of one argument")
    list_reads = models.PositiveIntegerField(default=0, help_text="Of a group.")
    # search
    searches = models.PositiveIntegerField(default=0)
    misses = models.PositiveIntegerField(default=0, help_text="Searches that found nothing.")

    class Meta:
        verbose_name = verbose_name_plural = "daily figures"
        ordering = ["-day", "op"]
        indexes = [
            models.Index(fields=["op", "day"], name="op_daily_of_one"),  # one op's last days
        ]
        constraints = [
            # Counted twice would be shown twice. Also serves all ops' last days.
            models.UniqueConstraint(
                fields=["day", "op", "release", "surface", "cohort", "model", "is_settled"], name="op_daily_once"
            ),
            # A rate above one is none.
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


class Rollup(models.Model):
    """How far events are counted in figures. Whoever moves it on has counted, so that nothing is counted twice."""

    name = models.CharField(max_length=40, unique=True)
    settled_until = models.DateTimeField(help_text="What happened before is counted for good.")
    counted_at = models.DateTimeField(help_text="When the rest was last counted.")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class AuditEntry(models.Model):
    """One change that an admin, a command or an import made: who, when, and what it was before. Never changed again."""

    class Kind(models.TextChoices):
        OP = "op", "op"
        GROUP = "group", "group"
        SECTION = "section", "prompt section"
        CONNECTION = "connection", "connection"
        SWITCH = "switch", "switch"
        RELEASE = "release", "release"
        FLAG = "flag", "flag"
        COHORT = "cohort", "cohort"

    class Action(models.TextChoices):
        ADDED = "added", "added"
        CHANGED = "changed", "changed"
        REMOVED = "removed", "removed"

    time = models.DateTimeField()
    by = models.CharField(max_length=150)
    kind = models.CharField(max_length=10, choices=Kind)
    name = models.CharField(max_length=200, help_text="Its path or name, as it was called afterwards.")
    action = models.CharField(max_length=10, choices=Action)
    changes = models.JSONField(
        default=dict, help_text="{field: [before, after]}, null where it said nothing; of what was removed, all of it."
    )
    note = models.CharField(max_length=500, blank=True)

    class Meta:
        verbose_name = "change"
        ordering = ["-time", "-id"]
        indexes = [
            models.Index(fields=["-time", "-id"], name="audit_newest"),  # the whole history, newest first
            models.Index(fields=["kind", "name", "-id"], name="audit_of_one"),  # one op's history
        ]
        constraints = [
            # A change that nobody made and one that changed nothing are none.
            models.CheckConstraint(condition=~Q(by=""), name="audit_by_somebody"),
            models.CheckConstraint(condition=Q(action__in=["added", "changed", "removed"]), name="audit_action_known"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.action} by {self.by}"
