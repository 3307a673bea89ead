"""Saved views of reports and lists."""

from django.conf import settings
from django.db import models
from django.db.models import Q


class SavedView(models.Model):
    """The filters of a report or of a list, under a name that a person gave them."""

    name = models.CharField(max_length=60)
    page = models.CharField(max_length=60, help_text="URL name of the page in the admin.")
    query = models.CharField(max_length=2_000, blank=True, help_text="Its query string, without the question mark.")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    is_shared = models.BooleanField(
        "shared", default=False, help_text="Whether everyone who can open the page sees it there."
    )
    saved_at = models.DateTimeField()

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["page", "owner", "name"], name="saved_view_once"),
            models.CheckConstraint(condition=~Q(name="") & ~Q(page=""), name="saved_view_named"),
        ]

    def __str__(self) -> str:
        return self.name
