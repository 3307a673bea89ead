"""What happened. Ops, releases and subjects are named by string: the log blocks no delete."""

from django.db import models
from django.db.models import Q


class OperationEvent(models.Model):
    """One help, search or exec, as it was answered."""

    class Type(models.TextChoices):
        HELP = "help", "help"
        SEARCH = "search", "search"
        EXEC = "exec", "exec"

    class Source(models.TextChoices):
        API = "api", "API"
        BATCH = "batch", "batch"

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
    # how it ended
    ok = models.BooleanField()
    status = models.PositiveSmallIntegerField(help_text="HTTP status.")
    code = models.CharField(max_length=20, blank=True)
    reason = models.CharField(max_length=60, blank=True)
    field_errors = models.JSONField(default=list, blank=True, help_text="[[pointer, code], …]; never the values.")
    replayed = models.BooleanField(default=False)
    result_count = models.PositiveIntegerField(null=True, blank=True, help_text="Items of a search or group.")
    latency_ms = models.FloatField(help_text="Milliseconds.")
    # under what
    release = models.CharField(max_length=64, blank=True)
    surface = models.CharField(max_length=20, blank=True)
    cohort = models.CharField(max_length=60, blank=True)
    # for whom
    client = models.CharField(max_length=100, blank=True)
    key = models.CharField(max_length=20, blank=True, help_text="The key's prefix.")
    subject = models.CharField(max_length=200, blank=True)
    session = models.CharField(max_length=200, blank=True)
    turn = models.CharField(max_length=200, blank=True)
    trace_id = models.CharField(max_length=40)

    class Meta:
        ordering = ["-time", "-id"]
        indexes = [
            models.Index(fields=["-time", "-id"], name="event_newest"),  # every list, newest first
            models.Index(fields=["op", "-time"], name="event_by_op"),  # one op's calls
            models.Index(
                fields=["session", "turn"], name="event_by_turn", condition=~Q(session="")
            ),  # one conversation
        ]
        constraints = [
            # A failure without a code cannot be counted, a success with one was none.
            models.CheckConstraint(
                condition=Q(ok=True, code="") | (Q(ok=False) & ~Q(code="")), name="event_code_when_failed"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.op or '-'} {self.code or 'ok'}"


class AuditEntry(models.Model):
    """One change that an admin, a command or an import made: who, when, and what it was before. Never changed again."""

    class Kind(models.TextChoices):
        OP = "op", "op"
        GROUP = "group", "group"
        SECTION = "section", "prompt section"
        CONNECTION = "connection", "connection"
        SWITCH = "switch", "switch"
        RELEASE = "release", "release"

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
        verbose_name_plural = "audit entries"
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
