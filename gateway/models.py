"""Clients and API keys, idempotency records, batches and periodic jobs."""

import re
from fnmatch import fnmatchcase
from uuid import uuid4

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

_NAMEABLE = re.compile(r"[\x21-\x7e]{1,200}")  # what the header Gateway-Subject can carry


class Scope(models.TextChoices):
    """What a key may do. Keys live long, so all scopes exist from the start, even before their endpoint does."""

    HELP = "help", "help"
    EXEC_READ = "exec:read", "exec:read"
    EXEC_WRITE = "exec:write", "exec:write"
    BATCH = "batch", "batch"
    TOOLSET = "toolset", "toolset"
    PREVIEW = "preview", "preview"
    EVENTS = "events", "events"
    FLAGS = "flags", "flags"


def all_scopes() -> list[str]:
    """Return every scope, the default of a new key."""
    return list(Scope.values)


def every_op() -> list[str]:
    """Return the patterns that match every op, the default of a new client."""
    return ["*"]


def _known_scopes(value: object) -> None:
    if not isinstance(value, list) or not value or any(item not in Scope.values for item in value):
        raise ValidationError(f"Send a list of one or more of {', '.join(Scope.values)}.")


def _patterns(value: object) -> None:
    if not isinstance(value, list) or not value or any(not isinstance(item, str) or not item for item in value):
        raise ValidationError('Send a list of patterns, such as ["onto.*", "util.web.search"].')


class Client(models.Model):
    """A service that calls the API for end users."""

    name = models.CharField(max_length=100, unique=True)
    subject_pattern = models.CharField(
        max_length=200, default="*", help_text="Subjects it may act for. * matches any characters: acme-*."
    )
    op_patterns = models.JSONField(
        default=every_op, validators=[_patterns], help_text='Ops it may see and run, such as ["onto.*"].'
    )
    confirms = models.BooleanField(
        "asks for confirmation", default=True, help_text="Turn off if the service itself asks users to confirm."
    )
    is_active = models.BooleanField(
        "active", default=True, help_text="If off, all its keys stop working within two seconds."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        permissions = [("try_as_any_subject", "Can try ops as any subject")]

    def __str__(self) -> str:
        return self.name

    def explain_subject_refusal(self, subject: str) -> str:
        """Return why a key of this client cannot be bound to a subject; empty if it can."""
        if _NAMEABLE.fullmatch(subject) and fnmatchcase(subject, self.subject_pattern):
            return ""
        return f"A key of {self} can be bound to 1 to 200 visible ASCII characters that match {self.subject_pattern}."


class ApiKey(models.Model):
    """An API key of a client. Only its prefix and a keyed hash of it are stored."""

    client = models.ForeignKey(Client, on_delete=models.CASCADE, related_name="keys")
    name = models.CharField(max_length=100, blank=True, help_text="Where it is used.")
    prefix = models.CharField(max_length=16, unique=True, editable=False)
    secret_hash = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=all_scopes, validators=[_known_scopes])
    subject = models.CharField(
        max_length=200,
        blank=True,
        help_text="The only end user it may act for. If empty, all that the client may act for.",
    )
    rate = models.PositiveIntegerField(
        "rate limit",
        default=50,
        validators=[MinValueValidator(1)],
        help_text="Requests per second, counted per process.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    rotated_from = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="To the minute.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at"]
        constraints = [
            # A rate of 0 would refuse every call.
            models.CheckConstraint(condition=Q(rate__gte=1), name="key_rate_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"

    def clean(self) -> None:
        """Raise ValidationError for a subject that a key of this client cannot be bound to."""
        if self.subject and self.client_id and (refusal := self.client.explain_subject_refusal(self.subject)):
            raise ValidationError({"subject": refusal})


class UsedConfirmation(models.Model):
    """A confirmation token that has confirmed a call, and can confirm no other one."""

    digest = models.CharField(max_length=64, primary_key=True, help_text="SHA-256 of the token.")
    client = models.ForeignKey(Client, on_delete=models.CASCADE)
    op = models.CharField(max_length=200)
    trace_id = models.CharField(max_length=40)
    used_at = models.DateTimeField(db_index=True)  # serves the clean-up

    class Meta:
        ordering = ["-used_at"]

    def __str__(self) -> str:
        return f"{self.op} at {self.used_at:%Y-%m-%d %H:%M:%S}"


class IdempotencyRecord(models.Model):
    """One idempotency key of a client and subject: claimed by the first call, then holding its response."""

    class State(models.TextChoices):
        CLAIMED = "claimed", "claimed"
        DONE = "done", "done"
        UNKNOWN = "unknown", "unknown"

    client = models.ForeignKey(Client, on_delete=models.CASCADE)
    subject = models.CharField(max_length=200, blank=True)
    key = models.CharField(max_length=255)
    op = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the canonical JSON of op and args as sent.")
    state = models.CharField(max_length=10, choices=State, default=State.CLAIMED)
    status = models.PositiveSmallIntegerField(default=0, help_text="HTTP status of the response.")
    answer = models.TextField(blank=True, help_text="The envelope of the response.")
    trace_id = models.CharField(max_length=40)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)  # serves the clean-up of expired records
    doubtful_at = models.DateTimeField(
        null=True, blank=True, help_text="For a claim committed before its write: when it counts as unknown."
    )

    class Meta:
        constraints = [
            # One effect per key, also under concurrency. Its index also serves the lookup.
            models.UniqueConstraint(fields=["client", "subject", "key"], name="idempotency_key_once"),
            # A finished record without an answer could not be replayed.
            models.CheckConstraint(condition=~Q(state="done") | ~Q(answer=""), name="idempotency_done_has_answer"),
        ]

    def __str__(self) -> str:
        return f"{self.key} ({self.state})"


class Batch(models.Model):
    """Several calls sent in one request: who sent them, how they run and until when."""

    class Mode(models.TextChoices):
        SEQUENTIAL = "sequential", "sequential"
        PARALLEL = "parallel", "parallel"

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    client = models.ForeignKey(Client, on_delete=models.CASCADE)
    api_key = models.ForeignKey(ApiKey, null=True, on_delete=models.SET_NULL)
    subject = models.CharField(max_length=200, blank=True)
    caller = models.JSONField(default=dict, help_text="From the headers: session, turn, context and more.")
    release = models.CharField(max_length=64, help_text="The release that all its entries use.")
    mode = models.CharField(max_length=10, choices=Mode)
    stop_on_error = models.BooleanField(default=False)
    key = models.CharField(max_length=255, blank=True, help_text="Its idempotency key.")
    fingerprint = models.CharField(max_length=64, blank=True, help_text="SHA-256 of the canonical JSON of its body.")
    trace_id = models.CharField(max_length=40)
    created_at = models.DateTimeField()
    runs_until = models.DateTimeField(help_text="Entries that have not started by then are cancelled.")
    cancelled_at = models.DateTimeField(null=True, blank=True)
    woken_at = models.DateTimeField(help_text="When workers were last notified.")
    expires_at = models.DateTimeField(db_index=True)  # serves the clean-up

    class Meta:
        verbose_name_plural = "batches"
        ordering = ["-created_at"]
        constraints = [
            # One batch per key, also under concurrency. Its index also serves the lookup.
            models.UniqueConstraint(fields=["client", "subject", "key"], condition=~Q(key=""), name="batch_key_once"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class BatchEntry(models.Model):
    """One call of a batch: pending, leased to one runner, or done."""

    class State(models.TextChoices):
        PENDING = "pending", "pending"
        RUNNING = "running", "running"
        DONE = "done", "done"

    class Outcome(models.TextChoices):
        SUCCEEDED = "succeeded", "succeeded"
        FAILED = "failed", "failed"
        SKIPPED = "skipped", "skipped"

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="entries")
    index = models.PositiveSmallIntegerField()
    type = models.CharField(max_length=10, help_text="help or exec.")
    name = models.CharField(max_length=200, blank=True, help_text="Its op or path; as sent if unknown.")
    body = models.JSONField(help_text="The call as sent.")
    needs = models.JSONField(default=list, help_text="Indexes of the entries it depends on.")
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    outcome = models.CharField(max_length=10, choices=Outcome, blank=True)
    runner = models.CharField(max_length=32, blank=True, help_text="The runner that holds the lease.")
    held_until = models.DateTimeField(null=True, blank=True, help_text="End of the lease; its runner renews it.")
    attempts = models.PositiveSmallIntegerField(default=0)
    answer = models.TextField(blank=True, help_text="Its envelope.")
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "batch entries"
        ordering = ["batch", "index"]
        constraints = [
            models.UniqueConstraint(fields=["batch", "index"], name="batch_entry_once"),
            # An entry has an outcome and an answer if and only if it is done.
            models.CheckConstraint(
                condition=(Q(state="done") & ~Q(outcome="") & ~Q(answer=""))
                | (~Q(state="done") & Q(outcome="", answer="")),
                name="batch_entry_done_is_answered",
            ),
            # Without an end of its lease, no other runner could take over.
            models.CheckConstraint(
                condition=~Q(state="running") | (~Q(runner="") & Q(held_until__isnull=False)),
                name="batch_entry_running_is_held",
            ),
        ]
        indexes = [
            # For the sweep: open entries, a small part of all rows.
            models.Index(fields=["state", "held_until"], name="batch_entry_open", condition=~Q(state="done")),
        ]

    def __str__(self) -> str:
        return f"{self.batch_id}[{self.index}]"


class PeriodicJob(models.Model):
    """A periodic job and its next run. The process that advances `next_run` runs it."""

    name = models.CharField(max_length=200, unique=True, help_text="Dotted path of the function.")
    next_run = models.DateTimeField()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
