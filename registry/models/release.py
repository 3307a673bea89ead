"""Releases, and when each was live."""

from typing import Any

from django.db import models, transaction
from django.db.models import Max, Q


class Release(models.Model):
    """An immutable snapshot of all copy. Its version is the hash of its content."""

    version = models.CharField(max_length=64, primary_key=True, editable=False)
    content = models.TextField(editable=False, help_text="RFC 8785 JSON; its SHA-256 is the version.")
    tokens = models.JSONField(editable=False, help_text="o200k_base tokens of each op's help: {op: [short, full]}.")
    op_count = models.PositiveIntegerField("ops", editable=False)
    # Database defaults, because processes of the previous version insert rows without these columns.
    accepted_warnings = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        editable=False,
        help_text="Warnings not in the release before: [{op, field, rule, severity, message, fix}].",
    )
    accepted_because = models.CharField(
        max_length=500, default="", db_default="", editable=False, help_text="Why the warnings were accepted."
    )
    base = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="The live release that selected entries were put into.",
    )
    selected_entries = models.JSONField(
        null=True, editable=False, help_text="These entries of the draft: [[kind, name]]. Null: the whole draft."
    )
    created_at = models.DateTimeField(editable=False)
    created_by = models.CharField(max_length=150, editable=False)
    # Null, because processes of the previous version insert rows without a number.
    number = models.PositiveIntegerField(
        null=True, unique=True, editable=False, help_text="Counted from 1; shown as r1."
    )
    name = models.CharField(max_length=60, blank=True, default="", db_default="", editable=False)
    labels = models.JSONField(default=list, db_default=models.Value([], models.JSONField()), editable=False)
    withdrawn_at = models.DateTimeField(null=True, editable=False)
    # Database defaults, because processes of the previous version insert rows without these columns.
    withdrawn_by = models.CharField(max_length=150, blank=True, default="", db_default="", editable=False)
    withdrawn_reason = models.CharField(max_length=500, blank=True, default="", db_default="", editable=False)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            # Anyone who asks for it gets the reason and the name of the person who withdrew it.
            models.CheckConstraint(
                condition=Q(withdrawn_at=None) | (~Q(withdrawn_by="") & ~Q(withdrawn_reason="")),
                name="release_withdrawn_has_reason",
            ),
        ]

    def __str__(self) -> str:
        return self.version[:12]

    def save(self, *args: Any, **kwargs: Any) -> None:
        with transaction.atomic():
            if self._state.adding and self.number is None:
                self.number = _lock_last_number() + 1
            super().save(*args, **kwargs)

    @property
    def short_name(self) -> str:
        """The number and the name for people, such as "r12 Clearer summaries"; the hash if there is no number yet."""
        return " ".join(filter(None, [f"r{self.number}" if self.number else str(self), self.name]))


def _lock_last_number() -> int:
    """Return the highest number of a release. The lock makes concurrent additions wait."""
    numbered = Release.objects.exclude(number=None).order_by("-number")
    numbered.select_for_update().only("number").first()
    last: int = numbered.aggregate(last=Max("number"))["last"] or 0  # read after the lock: who held it added one
    return last


class Activation(models.Model):
    """One time that a release was made live. The row with `is_live` is the pointer that all processes follow."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="activations")
    is_live = models.BooleanField("live", default=True)
    note = models.CharField(max_length=500)
    activated_at = models.DateTimeField()
    activated_by = models.CharField(max_length=150)
    # Database defaults, because processes of the previous version insert rows without these columns.
    eval_figures = models.JSONField(
        default=dict,
        db_default=models.Value({}, models.JSONField()),
        editable=False,
        help_text="Eval cases found when it was published, and by the release before: see registry.evals.comparison.",
    )
    lost_because = models.CharField(
        "losses accepted because",
        max_length=500,
        default="",
        db_default="",
        editable=False,
        help_text="Why it was published although it lost eval cases.",
    )

    class Meta:
        verbose_name = "release history entry"
        verbose_name_plural = "release history entries"
        ordering = ["-activated_at", "-id"]
        constraints = [
            # Two releases can never be live at the same time. The index also serves the query that polls for the live
            # release.
            models.UniqueConstraint(fields=["is_live"], condition=Q(is_live=True), name="activation_one_live"),
        ]

    def __str__(self) -> str:
        return f"{self.release_id[:12]} at {self.activated_at:%Y-%m-%d %H:%M}"
