"""Clients, their API keys and scopes, and the applications that users have let in over OAuth."""

import re
from fnmatch import fnmatchcase

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

_NAMEABLE = re.compile(r"[\x21-\x7e]{1,200}")  # what the header Gateway-Subject can carry


class Scope(models.TextChoices):
    """What a key may do. A key has a scope only if somebody chose it, or if it is one of the default ones."""

    HELP = "help", "help"
    EXEC_READ = "exec:read", "exec:read"
    EXEC_WRITE = "exec:write", "exec:write"
    BATCH = "batch", "batch"
    TOOLSET = "toolset", "toolset"
    PREVIEW = "preview", "preview"
    EVENTS = "events", "events"
    FLAGS = "flags", "flags"
    REPORTS = "reports", "reports"


# Keys live long, so a key that was made without a choice never gets more than these.
DEFAULT_SCOPES = (
    Scope.HELP,
    Scope.EXEC_READ,
    Scope.EXEC_WRITE,
    Scope.BATCH,
    Scope.TOOLSET,
    Scope.PREVIEW,
    Scope.EVENTS,
    Scope.FLAGS,
)


def all_scopes() -> list[str]:
    """Return the default scopes of a new key. Migrations name this function."""
    return [scope.value for scope in DEFAULT_SCOPES]


def every_op() -> list[str]:
    """Return the patterns that match every op, the default of a new client."""
    return ["*"]


def _known_scopes(value: object) -> None:
    if not isinstance(value, list) or not value or any(item not in Scope.values for item in value):
        raise ValidationError(f"Send a list of one or more of {', '.join(Scope.values)}.")


def _patterns(value: object) -> None:
    if not isinstance(value, list) or not value or any(not isinstance(item, str) or not item for item in value):
        raise ValidationError('Send a list of patterns, such as ["onto.*", "util.web.search"].')


class FlowMode(models.TextChoices):
    """What happens if a rule of data flow holds for a call (see gateway.data_flow)."""

    OFF = "off", "off: nothing is checked"
    SHADOW = "shadow", "shadow: the event of the call says which rule held"
    ENFORCE = "enforce", "enforce: the call is refused, or its user is asked"


class Client(models.Model):
    """A service that calls the API for end users."""

    name = models.CharField(max_length=100, unique=True)
    subject_pattern = models.CharField(
        max_length=200, default="*", help_text="Subjects it may act for. * matches any characters: acme-*."
    )
    op_patterns = models.JSONField(
        default=every_op, validators=[_patterns], help_text="Ops it may see and run, such as onto.* for all below onto."
    )
    confirms = models.BooleanField(
        "asks for confirmation", default=True, help_text="Turn off if the service itself asks users to confirm."
    )
    # Database defaults, because processes of the previous version insert rows without these columns.
    data_flow = models.CharField(
        "data flow",
        max_length=10,
        choices=FlowMode,
        blank=True,
        default="",
        db_default="",
        help_text="What the rules of data flow do. Empty: as GATEWAY_DATA_FLOW says.",
    )
    data_flow_rules = models.TextField(
        "rules of data flow",
        max_length=2000,
        blank=True,
        default="",
        db_default="",
        help_text="One a line, such as: after untrusted, ask before outbound. Empty: the rules of the gateway.",
    )
    is_active = models.BooleanField(
        "active", default=True, help_text="If off, all its keys stop working within two seconds."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        permissions = [("try_as_any_subject", "Can try ops as any subject")]

    def __str__(self) -> str:
        return self.name

    def explain_subject_refusal(self, subject: str) -> str:
        """Return why a key of this client cannot be bound to a subject; empty if it can."""
        if _NAMEABLE.fullmatch(subject) and fnmatchcase(subject, self.subject_pattern):
            return ""
        return f"A key of {self} can be bound to 1 to 200 visible ASCII characters that match {self.subject_pattern}."


class ApiKey(models.Model):
    """An API key of a client. Only its prefix and a keyed hash of it are stored."""

    client = models.ForeignKey(Client, on_delete=models.CASCADE, related_name="keys")
    name = models.CharField(max_length=100, blank=True, help_text="A label, such as staging chat.")
    prefix = models.CharField(max_length=16, unique=True, editable=False)
    secret_hash = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=all_scopes, validators=[_known_scopes])
    subject = models.CharField(
        max_length=200,
        blank=True,
        help_text="The only end user it may act for. If empty, all that the client may act for.",
    )
    rate = models.PositiveIntegerField(
        "rate limit",
        default=50,
        validators=[MinValueValidator(1)],
        help_text="Requests per second, counted per process.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=150, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    rotated_from = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, editable=False)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="To the minute.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at"]
        constraints = [
            # A rate of 0 would refuse every call.
            models.CheckConstraint(condition=Q(rate__gte=1), name="key_rate_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…"

    def clean(self) -> None:
        """Raise ValidationError for a subject that a key of this client cannot be bound to."""
        if self.subject and self.client_id and (refusal := self.client.explain_subject_refusal(self.subject)):
            raise ValidationError({"subject": refusal})


class SignedInApplication(models.Model):
    """An application that a user lets use the tools. It has the rights of an API key that nobody knows."""

    application = models.ForeignKey("oauth2_provider.Application", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.OneToOneField(
        ApiKey,
        on_delete=models.CASCADE,
        related_name="signed_in_application",
        verbose_name="API key",
        help_text="Its scopes, rate limit and expiry apply. Revoking it ends the access.",
    )
    created_at = models.DateTimeField("since", auto_now_add=True)

    class Meta:
        verbose_name = "signed-in application"
        ordering = ["-created_at"]
        constraints = [
            # Another sign-in of the same user and application uses the same key.
            models.UniqueConstraint(fields=["application", "user"], name="signed_in_application_once"),
        ]

    def __str__(self) -> str:
        return f"{self.application} for {self.user}"
