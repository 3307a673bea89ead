"""What a connection lets end users bring, the keys that they brought, and the links with which they enter them."""

from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models

from gateway.models.client import Client
from registry.models import Connection

# Such as: image/* application/pdf
validate_file_types = RegexValidator(
    r"\A\s*([a-z]+/(\*|[\w.+-]+)(\s+|\Z))*\Z", "Send types separated by spaces, such as: image/* application/pdf."
)


class EndUserSettings(models.Model):
    """What a connection takes from end users. A connection without a row has the defaults."""

    connection = models.OneToOneField(Connection, on_delete=models.CASCADE, related_name="end_user_settings")
    has_user_keys = models.BooleanField(
        "own keys",
        default=False,
        help_text=(
            "Each end user enters their own token, password or API key on a page that the chat links to. "
            "The secret below is then not used."
        ),
    )
    max_file_kb = models.PositiveIntegerField(
        "largest file (KB)",
        default=0,
        validators=[MaxValueValidator(1_000_000)],
        help_text="Of the files that ops send to the service. 0: as large as files can be.",
    )
    file_types = models.CharField(
        max_length=500,
        blank=True,
        validators=[validate_file_types],
        help_text="Types of these files, separated by spaces: image/* application/pdf. Empty: all types.",
    )

    class Meta:
        verbose_name = verbose_name_plural = "end user settings"

    def __str__(self) -> str:
        return str(self.connection)


class UserKey(models.Model):
    """An end user's own key for a service, used for calls of that user of that client only."""

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="user_keys")
    client = models.ForeignKey(Client, on_delete=models.CASCADE)
    subject = models.CharField(max_length=200, help_text="The end user.")
    username = models.TextField(blank=True, editable=False, help_text="Encrypted. For a user name with a password.")
    secret = models.TextField(editable=False, help_text="Encrypted.")
    origin = models.CharField(max_length=1100, editable=False, help_text="The origins that it was entered for.")
    entered_at = models.DateTimeField()
    refused_at = models.DateTimeField(
        null=True, blank=True, help_text="When the service refused it. It is not sent again."
    )

    class Meta:
        verbose_name = "own key"
        ordering = ["-entered_at"]
        constraints = [
            models.UniqueConstraint(fields=["connection", "client", "subject"], name="user_key_once"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} at {self.connection}"


class OpenedLink(models.Model):
    """A link to the page of an end user that was opened. It opens for no other browser."""

    digest = models.CharField(max_length=64, primary_key=True, help_text="SHA-256 of the link's token.")
    opened_at = models.DateTimeField(db_index=True)  # serves the clean-up

    def __str__(self) -> str:
        return self.digest
