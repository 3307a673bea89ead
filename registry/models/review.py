"""Requests for a review of changes of the draft, with their comments, and changes to be published later."""

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


class EntryHolder(models.Model):
    """What is bound to some entries of the draft: if one of them changes, it no longer counts."""

    # A database default, because processes of the previous version insert rows without this column.
    entries = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        editable=False,
        help_text="[[kind, name, hash in the live release, hash in the draft]], with empty hashes for no entry.",
    )

    class Meta:
        abstract = True

    @property
    def keys(self) -> frozenset[tuple[str, str]]:
        """The kinds and names of the entries."""
        return frozenset((kind, name) for kind, name, _, _ in self.entries)


class ReviewRequest(EntryHolder):
    """Changes of the draft that somebody asked others to review. An entry is in one open review at most."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting for a review"
        APPROVED = "approved", "approved"
        SENT_BACK = "sent_back", "changes requested"
        PUBLISHED = "published", "published"
        WITHDRAWN = "withdrawn", "withdrawn"

    version = models.CharField(max_length=64, help_text="Hash of the release that the changes would have made.")
    summary = models.CharField("changes", max_length=200, help_text="What it was asked for.")
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
        indexes = [models.Index(fields=["asked_at"], condition=Q(is_open=True), name="review_open")]
        constraints = [
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
    version = models.CharField(max_length=64, help_text="Hash of the release that the changes made at that time.")
    by = models.CharField(max_length=150)
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.by} {self.get_action_display()}"


class ScheduledPublish(EntryHolder, LeasedRow):
    """Reviewed changes that a job publishes at a time, if they are still the same. The row is the work.

    An entry is in one that waits at most.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        PUBLISHED = "published", "published"
        FAILED = "failed", "not published"
        CANCELLED = "cancelled", "cancelled"

    version = models.CharField(max_length=64, help_text="Hash of the release that the changes made at the review.")
    live_version = models.CharField(max_length=64, blank=True, help_text="The release that was live at the review.")
    summary = models.CharField("changes", max_length=200, help_text="What it changes.")
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
        indexes = [models.Index(fields=["publish_at"], condition=Q(state="waiting"), name="scheduled_publish_waits")]
        constraints = [
            models.CheckConstraint(
                condition=Q(state="waiting", ended_at=None)
                | Q(state__in=["published", "failed", "cancelled"], ended_at__isnull=False),
                name="scheduled_publish_ends_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.summary} at {self.publish_at:%Y-%m-%d %H:%M}"
