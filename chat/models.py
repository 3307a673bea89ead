"""Conversations, their messages and tool calls, and the events of turns that are streamed."""

import uuid

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from core.background.leases import LeasedRow
from core.database.ordered_json import OrderedJSONField

MAX_SUBJECT = 200  # as the gateway's
MAX_TITLE = 60
ATTACHED = "Attached files. An op that takes a file takes the id:"  # the heading above them, for the model

# What the gateway accepts in the header Gateway-Subject.
validate_subject = RegexValidator(
    r"\A[\x21-\x7e]{1,200}\Z",
    "Use 1 to 200 ASCII letters, digits and signs, without spaces, such as user-42.",
    "not_a_header",
)


class Profile(models.Model):
    """Whom the gateway knows a user as. A user without one cannot use the chat."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="chat_profile")
    subject = models.CharField(
        max_length=MAX_SUBJECT,
        validators=[validate_subject],
        help_text="Sent as Gateway-Subject. Opaque, not a name.",
    )

    class Meta:
        verbose_name = "chat profile"

    def __str__(self) -> str:
        return self.subject


class Conversation(models.Model):
    """A sequence of messages of one subject."""

    class TitleBy(models.TextChoices):
        """Who gave the title."""

        MESSAGE = "message", "the first message"
        MODEL = "model", "the model"
        PERSON = "person", "the user"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    subject = models.CharField(max_length=MAX_SUBJECT)
    title = models.CharField(max_length=MAX_TITLE, blank=True)
    title_by = models.CharField(max_length=10, choices=TitleBy.choices, default=TitleBy.MESSAGE)
    context = models.JSONField(default=dict, help_text="{type, project_id?, entity_id?}")
    summary = models.TextField(blank=True, help_text="Of the messages before summarised_until, for the model.")
    summarised_until = models.PositiveIntegerField(default=0, help_text="A position in the conversation.")
    tokens = models.PositiveBigIntegerField(default=0, help_text="In and out, as the provider counts them.")
    dollars = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    # A database default, because processes of the previous version insert rows without this column.
    zone = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="The user's time zone in the last turn."
    )
    row_ids = models.JSONField(
        blank=True,
        default=list,
        db_default=models.Value([], models.JSONField()),
        help_text="Of rows that the model knows by short handles: the first is #t1.",
    )
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["subject", "-updated_at"], name="chat_conversation_subject"),
            models.Index(fields=["updated_at"], name="chat_conversation_updated"),
        ]

    def __str__(self) -> str:
        return self.title or str(self.id)


class MessageQuerySet(models.QuerySet["Message"]):
    """Messages of conversations."""

    def shown(self) -> "MessageQuerySet":
        """Leave out versions that are not shown, with what follows them: the page and the model read the others."""
        return self.filter(hidden_under=None)


class Message(LeasedRow):
    """What the user or the assistant wrote. A message of the assistant is a turn: it runs until it has a `finish`."""

    class Role(models.TextChoices):
        """Who wrote it."""

        USER = "user"
        ASSISTANT = "assistant"

    class Finish(models.TextChoices):
        """How a turn ended. The first four are the reasons of the event `done`."""

        STOP = "stop", "complete"
        LIMIT = "limit", "reached a limit"
        CANCELLED = "cancelled", "stopped by the user"
        ASK = "ask", "waits for the user"
        ERROR = "error", "failed"
        INTERRUPTED = "interrupted", "its process died"

    class Thumb(models.TextChoices):
        """What the user thinks of an answer."""

        UP = "up"
        DOWN = "down"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="messages")
    position = models.PositiveIntegerField(help_text="From 1 within the conversation.")
    role = models.CharField(max_length=10, choices=Role.choices)
    text = models.TextField(blank=True)
    surface = models.CharField(max_length=20, blank=True)
    release = models.CharField(max_length=64, blank=True)
    cohort = models.CharField(max_length=200, blank=True)
    layers = models.JSONField(default=list, help_text="[{name, tokens, budget, cut}]")
    usage = models.JSONField(default=dict, help_text="{input, output, dollars, answers}")
    written = models.JSONField(default=list, help_text="[{entity, action, entity_id?, entity_name?, status}]")
    finish = models.CharField(max_length=12, choices=Finish.choices, blank=True)
    error = models.JSONField(null=True, blank=True, help_text="{code, message, retryable}")
    # Database defaults, because processes of the previous version insert rows without these columns.
    thumb = models.CharField(max_length=4, choices=Thumb.choices, blank=True, default="", db_default="")
    thumb_reason = models.TextField(blank=True, default="", db_default="", help_text="In the user's words.")
    reasoning = models.TextField(
        blank=True, default="", db_default="", help_text="What the model thought. Never sent to it again."
    )
    files = models.JSONField(
        blank=True,
        default=list,
        db_default=models.Value([], models.JSONField()),
        help_text="That the user attached: [{id, name, content_type, size}]. The gateway has their contents.",
    )
    cancel_requested = models.BooleanField(default=False)
    heartbeat_at = models.DateTimeField(null=True, blank=True, help_text="While a process of 0.1.0 runs the turn.")
    created_at = models.DateTimeField(default=timezone.now)
    # An edited question, or another answer to it, is a new version of the message: one of them is shown.
    version_of = models.ForeignKey(
        "self", models.CASCADE, null=True, blank=True, related_name="versions", help_text="The first version."
    )
    hidden_under = models.ForeignKey(
        "self",
        models.CASCADE,
        null=True,
        blank=True,
        related_name="hidden",
        help_text="The version that it is or follows, while another version is shown.",
    )

    objects = MessageQuerySet.as_manager()

    class Meta:
        ordering = ["conversation", "position"]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "position"], name="chat_message_position"),
            # Its index also serves the query for turns whose process died.
            models.UniqueConstraint(
                fields=["conversation"],
                condition=Q(role="assistant", finish=""),
                name="chat_one_running_turn",
            ),
        ]
        indexes = [
            models.Index(fields=["created_at"], name="chat_message_created"),
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.position}"

    @property
    def text_for_model(self) -> str:
        """The text as the model reads it: with the files that the user attached."""
        if not self.files:
            return self.text
        lines = [
            f"- {each['name']} ({each['content_type']}, {each['size']} bytes): {each['id']}" for each in self.files
        ]
        return "\n".join([self.text, "", ATTACHED, *lines])


class ToolCall(models.Model):
    """A tool that the model called in a turn, and what came back."""

    class Status(models.TextChoices):
        """Where a call stands. `confirm` waits for the user."""

        START = "start"
        SUCCESS = "success"
        ERROR = "error"
        CONFIRM = "confirm"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    message = models.ForeignKey(Message, models.CASCADE, related_name="calls")
    position = models.PositiveIntegerField(help_text="From 1 within the message.")
    round = models.PositiveIntegerField(help_text="The model's answer that has the call, counted from 1.")
    text_before = models.PositiveIntegerField(help_text="Length of the message's text when the call began.")
    call_id = models.CharField(max_length=200, help_text="The model's id of the call.")
    name = models.CharField(max_length=200, help_text="The tool, as the model named it.")
    op = models.CharField(max_length=200, blank=True)
    args = models.TextField(help_text="The arguments, as the model wrote them.")
    sent = OrderedJSONField(null=True, blank=True, help_text="The body of a write, with its idempotency keys.")
    envelope = OrderedJSONField(null=True, blank=True, help_text="The answer of the gateway.")
    confirmation = models.TextField(blank=True, help_text="While it waits: the token that the gateway wants back.")
    result = models.TextField(blank=True, help_text="What the model read of the answer.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.START)
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    trace_id = models.CharField(max_length=40, blank=True)

    class Meta:
        ordering = ["message", "position"]
        constraints = [models.UniqueConstraint(fields=["message", "position"], name="chat_call_position")]

    def __str__(self) -> str:
        return self.op or self.name


class EventChunk(models.Model):
    """Consecutive events of a turn, written together. They are kept for some minutes, for streams that reconnect."""

    message = models.ForeignKey(Message, models.CASCADE, related_name="event_chunks")
    first = models.PositiveIntegerField(help_text="The sequence number of its first event.")
    last = models.PositiveIntegerField()
    events = models.TextField(help_text="A JSON list of [type, data].")
    written_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["message", "first"]
        constraints = [models.UniqueConstraint(fields=["message", "first"], name="chat_chunk_first")]
        indexes = [models.Index(fields=["written_at"], name="chat_chunk_written")]

    def __str__(self) -> str:
        return f"{self.message_id} {self.first}-{self.last}"
