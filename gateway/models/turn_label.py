"""What the calls of a turn have brought into it, for the rules of data flow."""

from django.db import models


class TurnLabel(models.Model):
    """A label that a turn has since a call of it, by connection. All processes read it before a call that sends data.

    The turn is stored as a hash, so that the table names no user.
    """

    turn = models.CharField(max_length=32, help_text="Hash of client, subject, session and turn.")
    label = models.CharField(max_length=10)
    connection = models.CharField(max_length=60)
    op = models.CharField(max_length=200, help_text="The op of the call that brought it.")
    trace_id = models.CharField(max_length=40)
    brought_at = models.DateTimeField(db_index=True, help_text="The last time.")  # index: clean-up

    class Meta:
        ordering = ["brought_at"]
        constraints = [
            # Each label once, also under concurrency. Its index also serves the lookup.
            models.UniqueConstraint(fields=["turn", "label", "connection"], name="turn_label_once"),
        ]

    def __str__(self) -> str:
        return f"{self.label} of {self.connection}"
