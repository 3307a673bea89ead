"""Requests for a review of the draft, with their comments, and drafts to be published later."""

from dataclasses import dataclass

from django.db import models
from django.db.models import Q

from audit import audit_log
from core.background.leases import LeasedRow

MAX_COMMENT_LENGTH = 5_000  # characters


@dataclass(frozen=True)
class Person:
    """Somebody, identified by the id of the account; by name if there is none, as for a command."""

    name: str
    user_id: int | None = None

    @classmethod
    def find(cls, name: str) -> "Person":
        """Return the person who currently has a name."""
        return cls(name, audit_log.find_user_id(name))

    def is_same(self, other: "Person") -> bool:
        """Return whether two are the same person: names can change."""
        if self.user_id is None or other.user_id is None:
            return self.name == other.name
        return self.user_id == other.user_id


class ReviewRequest(models.Model):
    """A draft that somebody asked others to review. Only one is open at a time, because there is one draft."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting for a review"
        APPROVED = "approved", "approved"
        SENT_BACK = "sent_back", "changes requested"
        PUBLISHED = "published", "published"
        WITHDRAWN = "withdrawn", "withdrawn"

    version = models.CharField(max_length=64, help_text="Hash of the draft that the state is about.")
    summary = models.CharField("changes", max_length=200, help_text="What the draft changed when it was asked for.")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    is_open = models.BooleanField("open", default=True)
    asked_by = models.CharField(max_length=150)
    asked_by_id = models.BigIntegerField(null=True, editable=False, help_text="Id of that account.")
    asked_at = models.DateTimeField()
    decided_by = models.CharField(
        "decided by", max_length=150, blank=True, help_text="Who approved it or requested changes."
    )
    decided_by_id = models.BigIntegerField(null=True, editable=False, help_text="Id of that account.")
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "review"
        ordering = ["-asked_at", "-id"]
        constraints = [
            # There is one draft, so there is one review to do. The index also serves the query for it.
            models.UniqueConstraint(fields=["is_open"], condition=Q(is_open=True), name="review_one_open"),
            models.CheckConstraint(
                condition=Q(is_open=True, state__in=["waiting", "approved", "sent_back"])
                | Q(is_open=False, state__in=["published", "withdrawn"]),
                name="review_open_until_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.summary}, asked by {self.asked_by}"

    @property
    def asker(self) -> Person:
        return Person(self.asked_by, self.asked_by_id)

    @property
    def decider(self) -> Person:
        return Person(self.decided_by, self.decided_by_id)

    def is_about(self, version: str) -> bool:
        """Return whether its state is about the draft with this version."""
        return self.version == version


class ReviewComment(models.Model):
    """What somebody did or wrote in a review. Never updated."""

    class Action(models.TextChoices):
        ASKED = "asked", "asked for a review"
        COMMENTED = "commented", "commented"
        APPROVED = "approved", "approved"
        SENT_BACK = "sent_back", "requested changes"
        WITHDRAWN = "withdrawn", "withdrew the request"
        PUBLISHED = "published", "published"

    request = models.ForeignKey(ReviewRequest, on_delete=models.CASCADE, related_name="comments")
    action = models.CharField(max_length=10, choices=Action)
    text = models.TextField(max_length=MAX_COMMENT_LENGTH, blank=True)
    version = models.CharField(max_length=64, help_text="Hash of the draft at that time.")
    by = models.CharField(max_length=150)
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.by} {self.get_action_display()}"


class ScheduledPublish(LeasedRow):
    """A reviewed draft that a job publishes at a time, if it is still the same. The row is the work.

    Only one waits at a time, because there is one draft.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        PUBLISHED = "published", "published"
        FAILED = "failed", "not published"
        CANCELLED = "cancelled", "cancelled"

    version = models.CharField(max_length=64, help_text="Hash of the draft to publish.")
    live_version = models.CharField(max_length=64, blank=True, help_text="The release that was live at the review.")
    summary = models.CharField("changes", max_length=200, help_text="What the draft changes.")
    publish_at = models.DateTimeField()
    note = models.CharField(max_length=500)
    accepted = models.CharField("warnings accepted because", max_length=500, blank=True)
    accepted_loss = models.CharField("losses accepted because", max_length=500, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    reason = models.TextField("why not", blank=True, help_text="Why it was not published.")
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When it was published, cancelled or given up.")
    ended_by = models.CharField(max_length=150, blank=True)
    held_until = models.DateTimeField(null=True, blank=True, editable=False, db_column="claimed_at")

    class Meta:
        verbose_name, verbose_name_plural = "scheduled publish", "scheduled publishes"
        ordering = ["-publish_at", "-id"]
        constraints = [
            # There is one draft. The index also serves the query for the one that waits.
            models.UniqueConstraint(fields=["state"], condition=Q(state="waiting"), name="scheduled_publish_one_waits"),
            models.CheckConstraint(
                condition=Q(state="waiting", ended_at=None)
                | Q(state__in=["published", "failed", "cancelled"], ended_at__isnull=False),
                name="scheduled_publish_ends_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.summary} at {self.publish_at:%Y-%m-%d %H:%M}"
