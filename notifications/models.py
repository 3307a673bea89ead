"""Messages to people and services about what waits for them, kept until they are sent."""

from uuid import uuid4

from django.db import models
from django.db.models import Q

from core.background.leases import LeasedRow


class Notification(LeasedRow):
    """One message to one address. The row is the work: a job sends it, with retries, so nothing is lost."""

    class Channel(models.TextChoices):
        EMAIL = "email", "e-mail"
        WEBHOOK = "webhook", "webhook"
        CHAT = "chat", "chat tool"

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        SENT = "sent", "sent"
        FAILED = "failed", "failed"

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    channel = models.CharField(max_length=10, choices=Channel)
    recipient = models.CharField(max_length=254, blank=True, help_text="E-mail address; else empty.")
    event = models.CharField(max_length=40, help_text="What happened, such as review.asked.")
    subject = models.CharField(max_length=200)
    text = models.TextField()
    link = models.CharField(max_length=500, blank=True, help_text="The page to open.")
    # A database default, because processes of the previous version insert rows without this column.
    details = models.JSONField(default=dict, blank=True, db_default={}, help_text="The same for programs.")
    by = models.CharField(max_length=150)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    # One whose try failed is held without a holder, until the next try.
    held_until = models.DateTimeField("next try at", db_column="next_try_at")
    last_error = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "analytics_notification"  # named by its former app
        ordering = ["-created_at", "id"]
        indexes = [
            # What the job looks for every half minute.
            models.Index(fields=["held_until"], condition=Q(state="waiting"), name="notification_due"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "failed"], sent_at=None) | Q(state="sent", sent_at__isnull=False),
                name="notification_sent_has_time",
            ),
            models.CheckConstraint(
                condition=Q(channel="email") & ~Q(recipient="") | Q(channel__in=["webhook", "chat"], recipient=""),
                name="notification_email_has_recipient",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.target}"

    @property
    def target(self) -> str:
        """Where it goes: an e-mail address, the webhook or the chat tool."""
        return self.recipient or f"the {self.get_channel_display()}"
