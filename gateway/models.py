"""Who may call, and what was answered under an idempotency key."""

import re
from fnmatch import fnmatchcase

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

_NAMEABLE = re.compile(r"[\x21-\x7e]{1,200}")  # what the header Gateway-Subject can carry


class Scope(models.TextChoices):
    """What a key may do. Keys live long: all scopes are there from the start, an endpoint comes with its release."""

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
        max_length=200, default="*", help_text="Subjects it may speak for, with * for any characters: acme-*."
    )
    op_patterns = models.JSONField(
        default=every_op, validators=[_patterns], help_text='Ops it may see and run, such as ["onto.*"].'
    )
    confirms = models.BooleanField(
        default=True, help_text="Off for a service that asks its users by itself before it calls what asks for it."
    )
    is_active = models.BooleanField(default=True, help_text="Off: all its keys stop working within two seconds.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def refusal_of(self, subject: str) -> str:
        """Return why no key of this client can be bound to a subject, empty where one can."""
        if _NAMEABLE.fullmatch(subject) and fnmatchcase(subject, self.subject_pattern):
            return ""
        return f"A key of {self} can be bound to 1 to 200 visible ASCII characters that match {self.subject_pattern}."


class ApiKey(models.Model):
    """One secret of a client. Only a prefix and a keyed hash of it are stored."""

    client = models.ForeignKey(Client, on_delete=models.CASCADE, related_name="keys")
    name = models.CharField(max_length=100, blank=True, help_text="Where it is used.")
    prefix = models.CharField(max_length=16, unique=True, editable=False)
    secret_hash = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=all_scopes, validators=[_known_scopes])
    subject = models.CharField(
        max_length=200, blank=True, help_text="The one end user it speaks for; empty: the client's pattern decides."
    )
    rate = models.PositiveIntegerField(
        default=50, validators=[MinValueValidator(1)], help_text="Requests per second, counted per process."
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
            # A limit of nothing refuses every call.
            models.CheckConstraint(condition=Q(rate__gte=1), name="key_rate_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"

    def clean(self) -> None:
        """Refuse a subject that keys.create would refuse."""
        if self.subject and self.client_id and (refusal := self.client.refusal_of(self.subject)):
            raise ValidationError({"subject": refusal})


class IdempotencyRecord(models.Model):
    """One key of one client and subject: claimed by the first call, then what that call was answered."""

    class State(models.TextChoices):
        CLAIMED = "claimed", "claimed"
        DONE = "done", "done"

    client = models.ForeignKey(Client, on_delete=models.CASCADE)
    subject = models.CharField(max_length=200, blank=True)
    key = models.CharField(max_length=255)
    op = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the canonical JSON of op and args as sent.")
    state = models.CharField(max_length=10, choices=State, default=State.CLAIMED)
    status = models.PositiveSmallIntegerField(default=0, help_text="HTTP status answered.")
    answer = models.TextField(blank=True, help_text="The envelope answered, without meta.")
    trace_id = models.CharField(max_length=40)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)  # serves the clean-up of expired records

    class Meta:
        constraints = [
            # One effect a key, whatever runs at the same time. Also serves the lookup.
            models.UniqueConstraint(fields=["client", "subject", "key"], name="idempotency_key_once"),
            # A finished record without an answer could not be replayed.
            models.CheckConstraint(
                condition=Q(state="claimed") | (Q(state="done") & ~Q(answer="")), name="idempotency_done_has_answer"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.key} ({self.state})"


class PeriodicJob(models.Model):
    """Work that comes again, and when: the process that moves `next_run` on runs it."""

    name = models.CharField(max_length=200, unique=True, help_text="The function, by dotted path.")
    next_run = models.DateTimeField()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name
