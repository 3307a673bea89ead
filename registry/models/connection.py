"""Connections to upstreams, and what is known about the operations of an upstream."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from registry.models.fields import name_validator, validate_headers


def _text(verbose_name: str = "", *, max_length: int = 200, help_text: str = "") -> "models.CharField[str, str]":
    # A database default, because processes of the previous version insert rows without this column.
    return models.CharField(
        verbose_name or None, max_length=max_length, blank=True, default="", db_default="", help_text=help_text
    )


class Connection(models.Model):
    """An upstream that runs ops. Only connections of the kinds http and mcp have anything to configure."""

    class Kind(models.TextChoices):
        EMBEDDED = "embedded", "embedded"
        EXAMPLE = "example", "example"
        HTTP = "http", "HTTP service"
        MCP = "mcp", "MCP server"

    class Transport(models.TextChoices):
        HTTP = "http", "streamable HTTP"
        SSE = "sse", "HTTP with server-sent events (before 2025)"
        STDIO = "stdio", "a program of this machine"

    class Auth(models.TextChoices):
        NONE = "none", "none"
        BEARER = "bearer", "bearer token"
        BASIC = "basic", "user name and password"
        API_KEY = "api_key", "API key"
        CLIENT_CREDENTIALS = "client_credentials", "OAuth 2.0 client credentials"
        USER_OAUTH = "user_oauth", "OAuth 2.0, each end user signs in"

    class KeyIn(models.TextChoices):
        HEADER = "header", "header"
        QUERY = "query", "query"
        COOKIE = "cookie", "cookie"

    class SubjectAs(models.TextChoices):
        NONE = "none", "not sent"
        HEADER = "header", "header with the subject"
        SIGNED_TOKEN = "signed_token", "header with a signed token"

    name = models.CharField(max_length=60, unique=True, validators=[name_validator])
    kind = models.CharField(max_length=20, choices=Kind, default=Kind.EMBEDDED)
    base_url = _text(
        "base URL", max_length=500, help_text="Such as https://api.example.com/v1; of an MCP server, its endpoint."
    )
    transport = models.CharField(max_length=10, choices=Transport, default=Transport.HTTP, db_default=Transport.HTTP)
    command = _text(max_length=60, help_text="The name of a program in GATEWAY_MCP_COMMANDS, which starts it.")
    headers = models.JSONField(
        default=dict,
        blank=True,
        db_default={},
        validators=[validate_headers],
        help_text='Sent with every request, such as {"Accept-Language": "en"}. No secrets: they are set below.',
    )
    auth = models.CharField("authentication", max_length=20, choices=Auth, default=Auth.NONE, db_default=Auth.NONE)
    key_in = models.CharField("API key in", max_length=10, choices=KeyIn, default=KeyIn.HEADER, db_default=KeyIn.HEADER)
    key_name = _text("API key name", help_text="Of the header, query parameter or cookie, such as X-API-Key.")
    username = _text("user name")
    token_url = _text("token URL", max_length=500)
    authorize_url = _text("authorization URL", max_length=500, help_text="Where end users sign in.")
    client_id = _text("client id", max_length=300)
    scopes = _text(max_length=1000, help_text="Separated by spaces.")
    subject_as = models.CharField(
        "end user", max_length=20, choices=SubjectAs, default=SubjectAs.NONE, db_default=SubjectAs.NONE
    )
    subject_header = _text(help_text="The header that names the end user, such as X-User.")
    idempotency_header = _text(help_text="The header in which the upstream takes idempotency keys, if it does.")
    max_in_flight = models.PositiveSmallIntegerField(
        "calls at a time",
        default=10,
        db_default=10,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="Of each process. More wait a moment, then are refused.",
    )
    max_response_kb = models.PositiveIntegerField(
        "largest response (KB)",
        default=1000,
        db_default=1000,
        validators=[MinValueValidator(1), MaxValueValidator(50_000)],
    )
    document_url = _text("document URL", max_length=500, help_text="Of the OpenAPI document, checked for changes.")
    check_every = models.PositiveSmallIntegerField(
        "check every (hours)",
        default=24,
        db_default=24,
        validators=[MaxValueValidator(24 * 30)],
        help_text="How often the document is checked for changes. 0: never.",
    )
    is_pinned = models.BooleanField(
        "pinned",
        default=False,
        db_default=False,
        help_text="An op whose definition changes upstream is neither shown nor run until the change is approved.",
    )
    checked_at = models.DateTimeField(null=True, blank=True, editable=False)
    check_error = models.CharField(max_length=500, blank=True, default="", db_default="", editable=False)
    document_digest = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    import_group = models.CharField(max_length=60, blank=True, default="", db_default="", editable=False)
    import_selection = models.JSONField(default=dict, blank=True, db_default={}, editable=False)
    imported_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        constraints = [
            # Without a base URL, a request would have no host.
            models.CheckConstraint(condition=~Q(kind="http") | ~Q(base_url=""), name="connection_http_has_base_url"),
            # Without a program or a URL, there is no server.
            models.CheckConstraint(
                condition=~Q(kind="mcp") | ~Q(base_url="") | Q(transport="stdio") & ~Q(command=""),
                name="connection_mcp_has_server",
            ),
            # With no place at all, every call would be refused.
            models.CheckConstraint(condition=Q(max_in_flight__gte=1), name="connection_has_a_place"),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Raise ValidationError with a message for each field that the kind of authentication lacks."""
        errors: dict[str, Any] = {}
        if self.kind in (self.Kind.HTTP, self.Kind.MCP):
            errors = {name: f"{label} needs this field." for name, label in self._iterate_missing()}
            for name in ("base_url", "token_url", "authorize_url", "document_url"):
                if (problem := _find_url_problem(getattr(self, name))) and getattr(self, name):
                    errors[name] = problem
        if errors:
            raise ValidationError(errors)

    def _iterate_missing(self) -> Iterator[tuple[str, str]]:
        needed = {
            self.Auth.API_KEY: ("key_name",),
            self.Auth.BASIC: ("username",),
            self.Auth.CLIENT_CREDENTIALS: ("token_url", "client_id"),
            self.Auth.USER_OAUTH: ("authorize_url", "token_url", "client_id"),
        }
        if self.kind == self.Kind.MCP and self.transport == self.Transport.STDIO:
            if not self.command:
                yield "command", "A program of this machine"
        elif not self.base_url:
            yield "base_url", f"An {self.get_kind_display()}"
        for name in needed.get(self.Auth(self.auth), ()) if self.auth in self.Auth.values else ():
            if not getattr(self, name):
                yield name, self.get_auth_display().capitalize()
        if self.subject_as != self.SubjectAs.NONE and not self.subject_header:
            yield "subject_header", "Sending the end user"


def _find_url_problem(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_usable = (
            parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        is_usable = False
    if not is_usable or any(character.isspace() for character in url):
        return "Send an http:// or https:// address with a host."
    return "Send no user name or password in the address." if "@" in parts.netloc else ""


class UpstreamDefinition(models.Model):
    """One operation of an upstream, as approved and as last seen in the upstream's document."""

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="definitions")
    upstream_name = models.CharField(max_length=500, help_text="Such as GET /pets/{id}.")
    approved_digest = models.CharField(max_length=64, blank=True, help_text="Empty: never approved.")
    seen_digest = models.CharField(max_length=64, blank=True, help_text="Empty: gone from the document.")
    seen = models.JSONField(null=True, blank=True, help_text="The op's entry as last seen, if it differs.")
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["upstream_name"]
        constraints = [
            models.UniqueConstraint(fields=["connection", "upstream_name"], name="upstream_definition_once"),
        ]
        indexes = [
            # For the poll, which every process makes twice a second: the few rows that differ.
            models.Index(
                fields=["connection"],
                name="upstream_definition_changed",
                condition=~Q(seen_digest=F("approved_digest")),
            ),
        ]

    def __str__(self) -> str:
        return self.upstream_name


class DocumentImport(models.Model):
    """One import of an OpenAPI document: the document, what was found in it, what was picked, and how it went."""

    class State(models.TextChoices):
        READING = "reading", "reading the document"
        READY = "ready", "ready to pick"
        IMPORTING = "importing", "importing"
        DONE = "done", "done"
        FAILED = "failed", "failed"

    connection = models.ForeignKey(Connection, null=True, blank=True, on_delete=models.CASCADE, related_name="imports")
    url = models.CharField("address", max_length=500, blank=True)
    group = models.CharField(max_length=60, blank=True)
    document = models.BinaryField(default=b"", help_text="The files of the document, compressed.")
    found = models.JSONField(default=dict, blank=True, help_text="What was found: counts, tags, server, refusals.")
    selection = models.JSONField(default=dict, blank=True, help_text="What was picked: tags, methods, search.")
    report = models.JSONField(default=dict, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.READING)
    progress = models.CharField(max_length=200, blank=True)
    error = models.CharField(max_length=1000, blank=True)
    created_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)
    # Also set while it works. One that has stopped was cut off with its process.
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.url or self.group or f"import {self.pk}"
