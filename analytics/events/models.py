"""Operation events as rows.

They refer to ops, releases and subjects by name, not by foreign key, so that the log never blocks a delete.
`analytics.events.event_fields` describes the fields.
"""

from django.db import models
from django.db.models import Q

# Reasons for a call or a help read of an unknown op or path. Unknown arguments of an op are something else.
UNKNOWN_OP, UNKNOWN_PATH = "unknown_op", "unknown_path"


class OperationEvent(models.Model):
    """One help, search, discover, escalate or exec call, and how it was answered."""

    class Type(models.TextChoices):
        HELP = "help", "help"
        SEARCH = "search", "search"
        DISCOVER = "discover", "discover"
        ESCALATE = "escalate", "escalate"
        EXEC = "exec", "exec"

    class Source(models.TextChoices):
        API = "api", "API"
        BATCH = "batch", "batch"
        ADMIN = "admin", "admin"  # tried in the console; its writes are undone and no figure counts it

    class Format(models.TextChoices):
        LIST = "list", "list"  # of a discovery tool
        SHORT = "short", "short"
        FULL = "full", "full"
        ARG = "arg", "one argument"

    class Purpose(models.TextChoices):
        CONTEXT = "context", "context"  # the client loads what its page shows; no figure counts it

    time = models.DateTimeField()
    type = models.CharField(max_length=10, choices=Type)
    source = models.CharField(max_length=10, choices=Source, default=Source.API)
    # the request
    op = models.CharField(max_length=200, blank=True)
    tool_name = models.CharField(max_length=128, blank=True)
    group = models.CharField(max_length=60, blank=True)
    entity = models.CharField(max_length=60, blank=True)
    action = models.CharField(max_length=60, blank=True)
    entity_id = models.CharField("entity ID", max_length=64, blank=True)
    changed_ids = models.JSONField("changed IDs", null=True, blank=True)
    kind = models.CharField(max_length=10, blank=True)
    dry_run = models.BooleanField(default=False)
    # With a database default, so that processes of the version before this column can still insert rows.
    format = models.CharField(max_length=10, choices=Format, blank=True, default="", db_default="")
    # the response
    ok = models.BooleanField("OK")
    status = models.PositiveSmallIntegerField()
    code = models.CharField(max_length=20, blank=True)
    reason = models.CharField(max_length=60, blank=True)
    field_errors = models.JSONField(default=list, blank=True)
    replayed = models.BooleanField(default=False)
    unchanged = models.BooleanField(default=False, db_default=False)
    result_count = models.PositiveIntegerField(null=True, blank=True)
    latency_ms = models.FloatField("latency (ms)")
    progress = models.JSONField(null=True, blank=True)
    content = models.JSONField(null=True, blank=True)
    # The roll-up writes it after the event. It is in no index, so that PostgreSQL adds nothing to the others either.
    repairs = models.BigIntegerField(null=True, blank=True)
    # what served it
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True)
    cohort = models.CharField(max_length=130, blank=True)
    model = models.CharField(max_length=40, blank=True, default="", db_default="")
    # the caller
    agent = models.CharField(max_length=60, blank=True, default="", db_default="")
    client = models.CharField(max_length=100, blank=True)
    key = models.CharField(max_length=20, blank=True)
    subject = models.CharField(max_length=200, blank=True)
    session = models.CharField(max_length=200, blank=True)
    turn = models.CharField(max_length=200, blank=True)
    purpose = models.CharField(max_length=10, choices=Purpose, blank=True, default="", db_default="")
    data_flow = models.CharField(max_length=100, blank=True, default="", db_default="")
    digest = models.CharField(max_length=16, blank=True, default="", db_default="")
    trace_id = models.CharField("trace ID", max_length=40)

    class Meta:
        ordering = ["-time", "-id"]
        indexes = [
            models.Index(fields=["-time", "-id"], name="event_newest"),  # lists, newest first
            models.Index(fields=["op", "-time"], name="event_by_op"),  # one op's calls
            # The newest failures: failed events are usually few among many.
            models.Index(fields=["-time", "-id"], name="event_failed", condition=Q(ok=False)),
            models.Index(
                fields=["session", "turn"], name="event_by_turn", condition=~Q(session="")
            ),  # one conversation
            # The changes of one row.
            models.Index(
                fields=["entity_id", "-time"],
                name="event_by_changed_row",
                condition=Q(kind="write", ok=True) & ~Q(entity_id=""),
            ),
            # Writes of many rows, of which a few change any one row.
            models.Index(fields=["entity", "-time"], name="event_of_many_rows", condition=Q(changed_ids__isnull=False)),
            # Contents to delete after the days of stored contents; usually few rows.
            models.Index(fields=["time"], name="event_with_content", condition=Q(content__isnull=False)),
            models.Index(fields=["turn"], name="event_of_turn", condition=~Q(turn="")),  # one turn's events
            # Calls for which a rule of data flow held; usually few.
            models.Index(fields=["-time", "-id"], name="event_of_data_flow", condition=~Q(data_flow="")),
            # Unknown names, which daily figures do not store.
            models.Index(fields=["time"], name="event_of_no_name", condition=Q(reason__in=[UNKNOWN_OP, UNKNOWN_PATH])),
        ]
        constraints = [
            # A failure needs a code to be counted, and a success has none.
            models.CheckConstraint(
                condition=Q(ok=True, code="") | (Q(ok=False) & ~Q(code="")), name="event_code_when_failed"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.op or '-'} {self.code or 'ok'}"


class EventLoss(models.Model):
    """Events that a process could not write: how many, and when it found out."""

    time = models.DateTimeField(db_index=True)  # index: those of the last hour, clean-up
    count = models.PositiveIntegerField()

    class Meta:
        verbose_name, verbose_name_plural = "lost events", "lost events"
        ordering = ["-time", "-id"]
        constraints = [
            models.CheckConstraint(condition=Q(count__gte=1), name="event_loss_of_events"),
        ]

    def __str__(self) -> str:
        return f"{self.count:,} lost"
