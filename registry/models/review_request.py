"""Requests for a review of the draft, and what people wrote about it."""

from dataclasses import dataclass

from django.db import models
from django.db.models import Q

from analytics import audit

MAX_COMMENT_LENGTH = 5_000  # characters


@dataclass(frozen=True)
class Person:
    """Somebody by the id of the account. Without one, as of a command, the name tells."""

    name: str
    user_id: int | None = None

    @classmethod
    def find(cls, name: str) -> "Person":
        """Return the person who has a name now."""
        return cls(name, audit.find_user_id(name))

    def is_same(self, other: "Person") -> bool:
        """Return whether two are one person: names can be changed."""
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
