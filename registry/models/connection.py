"""Connections to upstreams, and what is known about the operations of an upstream."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from core.background.leases import LeasedRow
from registry.flow_labels import validate_flow_labels
from registry.models.fields import name_validator, validate_headers, validate_more_keys


def _text(verbose_name: str = "", *, max_length: int = 200, help_text: str = "") -> "models.CharField[str, str]":
    # A database default, because processes of the previous version insert rows without this column.
    return models.CharField(
        verbose_name or None, max_length=max_length, blank=True, default="", db_default="", help_text=help_text
    )


class Connection(models.Model):
    """An upstream that runs ops. Only connections of the kinds http and mcp have anything to configure."""

    class Kind(models.TextChoices):
        EMBEDDED = "embedded", "embedded app"
        EXAMPLE = "example", "example app"
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
    more_keys = models.JSONField(
        "more API keys",
        default=dict,
        blank=True,
        db_default={},
        validators=[validate_more_keys],
        help_text=(
            "Keys that the service asks for besides, and where each is sent: header, query or cookie. "
            'Such as {"X-App-Id": "header"}. Enter their values below, after you have saved.'
        ),
    )
    username = _text("user name")
    token_url = _text("token URL", max_length=500)
    authorize_url = _text("authorization URL", max_length=500, help_text="Where end users sign in.")
    client_id = _text("client id", max_length=300)
    scopes = _text(max_length=1000, help_text="Separated by spaces.")
    subject_as = models.CharField(
        "end user", max_length=20, choices=SubjectAs, default=SubjectAs.NONE, db_default=SubjectAs.NONE
    )
    subject_header = _text(help_text="The header that names the end user, such as X-User.")
    shares_sessions = models.BooleanField(
        "shared session",
        default=False,
        db_default=False,
        help_text=(
            "Turn on if the server stores no data of its callers: then all callers share one session. "
            "Otherwise each end user of a client has a separate one."
        ),
    )
    idempotency_header = _text(help_text="Header for idempotency keys, if the service supports them.")
    max_in_flight = models.PositiveSmallIntegerField(
        "calls at a time",
        default=10,
        db_default=10,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="Per process. Further calls wait a moment, then are refused.",
    )
    max_response_kb = models.PositiveIntegerField(
        "largest response (KB)",
        default=1000,
        db_default=1000,
        validators=[MinValueValidator(1), MaxValueValidator(50_000)],
    )
    flow_labels = models.JSONField(
        "data flow",
        default=list,
        db_default=[],
        blank=True,
        validators=[validate_flow_labels],
        help_text="Labels of all its ops: untrusted and private count for reads, outbound for writes.",
    )
    document_url = _text("document URL", max_length=500, help_text="Of the OpenAPI document, checked for changes.")
    check_every = models.PositiveSmallIntegerField(
        "check every (hours)",
        default=24,
        db_default=24,
        validators=[MaxValueValidator(24 * 30)],
        help_text="How often the upstream is checked for changes. 0: never.",
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

    @property
    def is_remote(self) -> bool:
        """Whether its ops are run by a service, or a program, that is not part of the gateway."""
        return self.kind in REMOTE_KINDS

    @property
    def is_program(self) -> bool:
        """Whether a program of this machine is started, to which no request is sent."""
        return self.kind == self.Kind.MCP and self.transport == self.Transport.STDIO

    @property
    def names_subject(self) -> bool:
        """Whether calls are made for an end user, and so need one."""
        return self.subject_as != self.SubjectAs.NONE or self.auth == self.Auth.USER_OAUTH

    @property
    def holds_changes(self) -> bool:
        """Whether an op whose definition changed waits for approval. Those of MCP servers always do."""
        return self.is_pinned or self.kind == self.Kind.MCP

    @property
    def is_watched(self) -> bool:
        """Whether the upstream can be compared with what was imported from it."""
        return bool(self.import_group and (self.document_url or self.kind == self.Kind.MCP))

    def clean(self) -> None:
        """Raise ValidationError with a message for each field that the kind of authentication lacks."""
        errors: dict[str, Any] = {}
        if self.is_remote:
            errors = {name: f"{label} needs this field." for name, label in self._iterate_missing()}
            errors |= dict(self._iterate_unfit())
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
        if self.is_program:
            if not self.command:
                yield "command", "A program of this machine"
        elif not self.base_url:
            yield "base_url", f"An {self.get_kind_display()}"
        for name in needed.get(self.Auth(self.auth), ()) if self.auth in self.Auth.values else ():
            if not getattr(self, name):
                yield name, self.get_auth_display().capitalize()
        if self.subject_as != self.SubjectAs.NONE and not self.subject_header:
            yield "subject_header", "Sending the end user"

    def _iterate_unfit(self) -> Iterator[tuple[str, str]]:
        """Yield each column with a value that an MCP server cannot use, and what to choose instead."""
        if self.is_program:
            if self.auth != self.Auth.NONE:
                yield "auth", "A program of this machine takes no credentials. Choose none."
            if self.subject_as != self.SubjectAs.NONE:
                yield "subject_as", "A program of this machine does not get the end user. Choose not sent."
        elif self.kind == self.Kind.MCP:
            if self.auth == self.Auth.API_KEY and self.key_in != self.KeyIn.HEADER:
                yield "key_in", "An MCP server takes its key in a header. Choose header."
            names = self.headers if isinstance(self.headers, dict) else ()
            if name := next((name for name in names if name.lower() in _PROTOCOL_HEADERS), ""):
                yield "headers", f"The protocol sets {name}."
            if self.shares_sessions and self.names_subject:
                yield "shares_sessions", "The server gets the end user, so each user has a session. Switch it off."


# The kinds of connections that have settings.
REMOTE_KINDS = (Connection.Kind.HTTP, Connection.Kind.MCP)

# What a client of an MCP server sets by itself (MCP specification, streamable HTTP).
_PROTOCOL_HEADERS = frozenset(
    ("accept", "content-type", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id")
)


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
    """One operation of an upstream, as approved and as last seen in the upstream's document.

    One that was never approved is new: it was not there when the document was imported.
    """

    connection = models.ForeignKey(Connection, on_delete=models.CASCADE, related_name="definitions")
    upstream_name = models.CharField(max_length=500, help_text="Such as GET /pets/{id}.")
    approved_digest = models.CharField(max_length=64, blank=True, help_text="Empty: never approved.")
    seen_digest = models.CharField(max_length=64, blank=True, help_text="Empty: gone from the document.")
    seen = models.JSONField(null=True, blank=True, help_text="The op's entry as last seen, if it differs.")
    seen_at = models.DateTimeField()
    # Of tools, whose ops do not have all of them: an output schema, annotations. Null for processes of the previous
    # version, which insert rows without them.
    approved_definition = models.JSONField(null=True, blank=True, help_text="What the upstream said, as approved.")
    seen_definition = models.JSONField(null=True, blank=True, help_text="What it said last, if it differs.")

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


class DocumentImport(LeasedRow):
    """One import of an OpenAPI document or an MCP server: what was found, what was picked, and how it went."""

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
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.url or self.group or f"import {self.pk}"

    @property
    def is_server(self) -> bool:
        """Whether tools of an MCP server are imported, and no document."""
        return bool(self.found.get("connection", {}).get("kind") == Connection.Kind.MCP)

    @property
    def unit(self) -> str:
        """The name of one item to import."""
        return "tool" if self.is_server else "operation"
