"""Calls that wait for input of their end user."""

from hashlib import sha256

from django.db import models

from gateway.models.client import Client


def digest_secret(secret: str) -> str:
    """Return what is stored of a token or of the id of a waiting call, to find its row."""
    return sha256(secret.encode()).hexdigest()


class PendingInput(models.Model):
    """A question of an upstream to the end user of a call. Its token goes on with the call once.

    What is needed to go on is encrypted with the token, which is not stored: who can read the database can neither
    answer nor read the call.
    """

    digest = models.CharField(max_length=64, primary_key=True, help_text="SHA-256 of the token.")
    client = models.ForeignKey(Client, on_delete=models.CASCADE)
    subject = models.CharField(max_length=200, blank=True)
    op = models.CharField(max_length=200)
    trace_id = models.CharField(max_length=40)
    state = models.TextField(editable=False, help_text="Encrypted: the call, its questions, answers so far.")
    batch_entry = models.BigIntegerField(null=True, blank=True, help_text="The entry of a batch that asked.")
    waiting_call = models.CharField(
        max_length=64, blank=True, db_index=True, help_text="SHA-256 of the id of the call that waits in a process."
    )
    answer = models.TextField(blank=True, editable=False, help_text="Encrypted: an answer for that process.")
    outcome = models.TextField(blank=True, editable=False, help_text="Encrypted: how the call ended there.")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)  # serves the clean-up
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.op} at {self.created_at:%Y-%m-%d %H:%M:%S}"
