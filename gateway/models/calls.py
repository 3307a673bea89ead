"""Rows of calls: confirmations, idempotency records, batches with entries, stored files, periodic jobs."""

from uuid import uuid4

from django.db import models
from django.db.models import Q

from core.background.leases import LeasedRow
from gateway.models.client import ApiKey, Client


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


class BatchEntry(LeasedRow):
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
    holder = models.CharField(
        "runner", max_length=32, blank=True, db_column="runner", help_text="The runner that holds the lease."
    )
    held_until = models.DateTimeField(null=True, blank=True, help_text="End of the lease; its runner renews it.")
    attempts = models.PositiveSmallIntegerField(default=0)
    answer = models.TextField(blank=True, help_text="Its envelope.")
    progress = models.JSONField(null=True, blank=True, help_text="What its upstream reported while it runs.")
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
                condition=~Q(state="running") | (~Q(holder="") & Q(held_until__isnull=False)),
                name="batch_entry_running_is_held",
            ),
        ]
        indexes = [
            # For the sweep: open entries, a small part of all rows.
            models.Index(fields=["state", "held_until"], name="batch_entry_open", condition=~Q(state="done")),
        ]

    def __str__(self) -> str:
        return f"{self.batch_id}[{self.index}]"


class PeriodicJob(LeasedRow):
    """A periodic job, leased for an interval by the process that runs it: it runs next when the lease ends."""

    name = models.CharField(max_length=200, unique=True, help_text="The name that a manifest gives it.")
    held_until = models.DateTimeField("next run", db_column="next_run")

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class StoredFile(models.Model):
    """A file of one subject of one client. Nobody else can read it, and it is deleted when it expires."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    client = models.ForeignKey(Client, on_delete=models.CASCADE)
    subject = models.CharField(max_length=200, blank=True)
    name = models.CharField(max_length=255)
    content_type = models.CharField(max_length=200)
    content = models.BinaryField()
    size = models.PositiveIntegerField(help_text="Bytes.")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)  # serves the clean-up

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            # For the quota: what a caller has, without reading the rows, which hold the contents.
            models.Index(fields=["client", "subject", "expires_at", "size"], name="stored_file_quota"),
        ]

    def __str__(self) -> str:
        return self.name
