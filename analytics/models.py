"""Models of events, daily figures and the audit log.

They refer to ops, releases and subjects by name, not by foreign key, so that logs never block a delete.
"""

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
    """One help, search or exec call, and how it was answered."""

    class Type(models.TextChoices):
        HELP = "help", "help"
        SEARCH = "search", "search"
        EXEC = "exec", "exec"

    class Source(models.TextChoices):
        API = "api", "API"
        BATCH = "batch", "batch"
        ADMIN = "admin", "admin"  # tried in the admin; its writes are undone and no figure counts it

    class Format(models.TextChoices):
        SHORT = "short", "short"
        FULL = "full", "full"
        ARG = "arg", "one argument"

    time = models.DateTimeField()
    type = models.CharField(max_length=10, choices=Type)
    source = models.CharField(max_length=10, choices=Source, default=Source.API)
    # the request
    op = models.CharField(max_length=200, blank=True, help_text="The canonical op or path; as sent if unknown.")
    tool_name = models.CharField(max_length=128, blank=True)
    group = models.CharField(max_length=60, blank=True)
    entity = models.CharField(max_length=60, blank=True)
    action = models.CharField(max_length=60, blank=True)
    entity_id = models.CharField(max_length=64, blank=True)
    kind = models.CharField(max_length=10, blank=True)
    dry_run = models.BooleanField(default=False)
    # With a database default, so that processes of the version before this column can still insert rows.
    format = models.CharField(
        max_length=10, choices=Format, blank=True, default="", db_default="", help_text="The help format that was read."
    )
    # the response
    ok = models.BooleanField()
    status = models.PositiveSmallIntegerField(help_text="HTTP status code.")
    code = models.CharField(max_length=20, blank=True)
    reason = models.CharField(max_length=60, blank=True)
    field_errors = models.JSONField(default=list, blank=True, help_text="[[pointer, code], …], never the values.")
    replayed = models.BooleanField(default=False)
    result_count = models.PositiveIntegerField(
        null=True, blank=True, help_text="Items in the result of a search, a group or a list op."
    )
    latency_ms = models.FloatField(help_text="In milliseconds.")
    content = models.JSONField(
        null=True,
        blank=True,
        help_text="{args, result}, if GATEWAY_CONTENT_DAYS is set. Secrets marked in the schema are redacted.",
    )
    mends = models.BigIntegerField(
        "repairs", null=True, blank=True, help_text="Id of the earlier failed call in the turn that this call repaired."
    )
    # what served it
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True)
    cohort = models.CharField(
        max_length=130, blank=True, help_text="Cohorts that decided, in the order of their flags."
    )
    model = models.CharField(max_length=40, blank=True, default="", db_default="", help_text="The model's family.")
    # the caller
    client = models.CharField(max_length=100, blank=True)
    key = models.CharField(max_length=20, blank=True, help_text="The key's prefix.")
    subject = models.CharField(max_length=200, blank=True)
    session = models.CharField(max_length=200, blank=True)
    turn = models.CharField(max_length=200, blank=True)
    digest = models.CharField(
        max_length=16, blank=True, default="", db_default="", help_text="Identical for identical calls within a turn."
    )
    trace_id = models.CharField(max_length=40)

    class Meta:
        ordering = ["-time", "-id"]
        indexes = [
            models.Index(fields=["-time", "-id"], name="event_newest"),  # lists, newest first
            models.Index(fields=["op", "-time"], name="event_by_op"),  # one op's calls
            models.Index(
                fields=["session", "turn"], name="event_by_turn", condition=~Q(session="")
            ),  # one conversation
            # Contents to delete after GATEWAY_CONTENT_DAYS; usually very few rows.
            models.Index(fields=["time"], name="event_with_content", condition=Q(content__isnull=False)),
            models.Index(fields=["turn"], name="event_of_turn", condition=~Q(turn="")),  # one turn's events
            # Unknown names, which daily figures do not store.
            models.Index(
                fields=["time"], name="event_of_no_name", condition=Q(reason__in=["unknown_op", "unknown_path"])
            ),
        ]
        constraints = [
            # A failure needs a code to be counted, and a success has none.
            models.CheckConstraint(
                condition=Q(ok=True, code="") | (Q(ok=False) & ~Q(code="")), name="event_code_when_failed"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.op or '-'} {self.code or 'ok'}"


class OpDaily(models.Model):
    """Figures of one op or group on one day, under one release, surface, cohort and model family.

    `analytics.rollup` aggregates them from events. A day's figures are the sum of its settled and unsettled rows.
    """

    day = models.DateField(help_text="In UTC.")
    op = models.CharField(
        max_length=200, blank=True, help_text="The op or group; empty for searches and unknown names."
    )
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True, default="", db_default="")
    cohort = models.CharField(max_length=130, blank=True, default="", db_default="")
    model = models.CharField(max_length=40, blank=True, default="", db_default="", help_text="The model's family.")
    is_settled = models.BooleanField(help_text="Off for the last minutes, which are recounted each time.")
    # calls, and failed calls by code
    calls = models.PositiveIntegerField(default=0, help_text="Excludes dry runs, replays and deferred calls.")
    invalid = models.PositiveIntegerField(default=0, help_text="VALIDATION_ERROR.")
    denied = models.PositiveIntegerField(default=0, help_text="PERMISSION_DENIED.")
    not_found = models.PositiveIntegerField(default=0, help_text="NOT_FOUND.")
    conflict = models.PositiveIntegerField(default=0, help_text="CONFLICT.")
    internal = models.PositiveIntegerField(default=0, help_text="INTERNAL.")
    mended = models.PositiveIntegerField(
        "repaired", default=0, db_default=0, help_text="Failed calls that a later call in the turn repaired."
    )
    unknown_names = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Calls and help reads of unknown names."
    )
    latency_ms = models.FloatField(default=0, help_text="Sum over all calls, in milliseconds.")
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
                fields=["day", "op", "release", "surface", "cohort", "model", "is_settled"], name="op_daily_once"
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


class Rollup(models.Model):
    """The mark up to which events are settled. The run that moves it also writes, so no event is counted twice."""

    name = models.CharField(max_length=40, unique=True)
    settled_until = models.DateTimeField(help_text="Earlier events are settled.")
    counted_at = models.DateTimeField(help_text="When later events were last counted.")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class AuditEntry(models.Model):
    """One change made by an admin, a command or an import: who, when, before and after. Never updated."""

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
    name = models.CharField(max_length=200, help_text="The path or name after the change.")
    action = models.CharField(max_length=10, choices=Action)
    changes = models.JSONField(
        default=dict, help_text="{field: [before, after]}, null if empty. For a removed row, all fields."
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
            # Every change has an author and a known action.
            models.CheckConstraint(condition=~Q(by=""), name="audit_by_somebody"),
            models.CheckConstraint(condition=Q(action__in=["added", "changed", "removed"]), name="audit_action_known"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.action} by {self.by}"
