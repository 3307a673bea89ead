"""Credentials for upstreams: secrets of a connection, tokens of end users, and sign-ins that have begun.

Columns that hold secrets are encrypted (core/encryption.py). No page, export or log shows them.
"""

from datetime import datetime
from uuid import uuid4

from django.db import models

from registry.models import Connection


class ConnectionSecret(models.Model):
    """One secret of a connection. It is sent to the addresses that it was entered for, and to no other one."""

    class Name(models.TextChoices):
        TOKEN = "token", "bearer token"
        PASSWORD = "password", "password"
        KEY = "key", "API key"
        CLIENT_SECRET = "client_secret", "client secret"
        SIGNING_KEY = "signing_key", "signing key"

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="secrets")
    name = models.CharField("secret", max_length=20, choices=Name)
    value = models.TextField(editable=False, help_text="Encrypted, or env: and the name of a variable.")
    origin = models.CharField(max_length=1100, editable=False, help_text="The origins that it was entered for.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["connection", "name"]
        constraints = [
            models.UniqueConstraint(fields=["connection", "name"], name="connection_secret_once"),
        ]

    def __str__(self) -> str:
        return self.get_name_display()


class UserGrant(models.Model):
    """The OAuth tokens with which an end user lets the gateway call an upstream."""

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="grants")
    subject = models.CharField(max_length=200, help_text="The end user.")
    access_token = models.TextField(editable=False, help_text="Encrypted.")
    refresh_token = models.TextField(blank=True, editable=False, help_text="Encrypted. Empty: it cannot be renewed.")
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Of the access token. Empty: unknown.")
    scopes = models.CharField(max_length=1000, blank=True)
    origin = models.CharField(max_length=1100, editable=False, help_text="The origins that it was granted for.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["connection", "subject"], name="user_grant_once"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} at {self.connection}"

    def is_expired(self, at: datetime) -> bool:
        """Return whether the access token has expired. One without an expiry is tried until it is refused."""
        return self.expires_at is not None and self.expires_at <= at


class SignIn(models.Model):
    """A sign-in of an end user at an upstream that has begun. Its state is valid once, for ten minutes."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    connection = models.ForeignKey(Connection, on_delete=models.CASCADE)
    subject = models.CharField(max_length=200)
    verifier = models.TextField(help_text="PKCE code verifier, encrypted.")
    created_at = models.DateTimeField(db_index=True)  # serves the clean-up
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.subject} at {self.connection}"
