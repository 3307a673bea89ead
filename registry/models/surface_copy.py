"""Copy that is not an op: agents, pins of surfaces, sections of prompts, and the vocabulary."""

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from audit.models import AuditEntry
from registry.models.fields import (
    ReadableJSONEncoder,
    build_source_field,
    validate_meaning,
    validate_text_list,
    validate_words,
    word_validator,
)
from registry.vocabulary import WordKind, build_name

ANY = "*"
MAX_NAME = AuditEntry._meta.get_field("name").max_length or 0  # characters; longer ones have no history
_pattern_validator = RegexValidator(
    r"\A[a-z0-9_.*]+\Z", "Lower-case letters, digits, dots and underscores; * stands for any characters."
)
_word_or_any_validator = RegexValidator(
    r"\A(\*|[a-z][a-z0-9_]*)\Z", "A lower-case word such as project, or * for all others."
)


class Agent(models.Model):
    """A role for one task: which ops it may run, when to use it, and its system prompt."""

    class Status(models.TextChoices):
        ACTIVE = "active", "active"
        RETIRED = "retired", "retired"

    name = models.CharField(
        max_length=60, unique=True, validators=[word_validator], help_text="Its name in calls, such as explorer."
    )
    summary = models.CharField(max_length=200, help_text="One line, at most 12 words, read when agents are listed.")
    description = models.TextField(max_length=2000, blank=True, help_text="What it does and what it returns.")
    when_to_use = models.TextField(max_length=2000, blank=True, help_text="The tasks that should go to it.")
    ops = models.JSONField(
        default=list,
        validators=[validate_text_list],
        help_text="Paths of the ops that it may run; * stands for any characters, as in onto.*.",
    )
    is_read_only = models.BooleanField("read-only", default=True, help_text="It runs only the reads among these ops.")
    constraints = models.JSONField(
        default=list, blank=True, validators=[validate_text_list], help_text="What it must not do, one sentence each."
    )
    system_prompt = models.TextField(max_length=8000, help_text="Sent to the model that plays the agent.")
    examples = models.JSONField(
        default=list, blank=True, validators=[validate_text_list], help_text="Tasks that it does well."
    )
    edge_cases = models.JSONField(
        default=list, blank=True, validators=[validate_text_list], help_text="What it does in unusual cases."
    )
    status = models.CharField(
        max_length=10, choices=Status, default=Status.ACTIVE, help_text="Nobody can run a retired agent."
    )
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            # A list item without a summary tells a model nothing, and an agent without a prompt cannot run.
            models.CheckConstraint(
                condition=Q(summary__length__gt=0, system_prompt__length__gt=0), name="agent_not_empty"
            ),
            models.CheckConstraint(condition=Q(status__in=["active", "retired"]), name="agent_status_known"),
        ]

    def __str__(self) -> str:
        return self.name


class Pin(models.Model):
    """The ops that a surface shows as typed tools in one context to one family of models, within a token budget."""

    class Surface(models.TextChoices):
        HYBRID = "hybrid", "hybrid"
        DISCOVERY = "discovery", "discovery"

    surface = models.CharField(max_length=20, choices=Surface, help_text="The surface that shows them.")
    context = models.CharField(
        max_length=60,
        default=ANY,
        validators=[_word_or_any_validator],
        help_text="What the user looks at, such as project; * for every context that has no pins of its own.",
    )
    model_family = models.CharField(
        max_length=40,
        default=ANY,
        validators=[_word_or_any_validator],
        help_text="Such as gpt, claude or gemini; * for every family that has no pins of its own.",
    )
    ops = models.JSONField(
        default=list,
        blank=True,
        validators=[validate_text_list],
        help_text="Paths of ops in order, the most useful ones first. Empty: nothing is pinned here.",
    )
    max_tokens = models.PositiveIntegerField(
        default=2_000,
        validators=[MinValueValidator(50), MaxValueValidator(100_000)],
        help_text="Tokens for their definitions together. Ops that do not fit are left out.",
    )
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["surface", "context", "model_family"]
        constraints = [
            # Two rows could not both decide what one model is shown.
            models.UniqueConstraint(fields=["surface", "context", "model_family"], name="pin_place_unique"),
            models.CheckConstraint(condition=Q(surface__in=["hybrid", "discovery"]), name="pin_surface_known"),
            models.CheckConstraint(condition=Q(max_tokens__range=(50, 100_000)), name="pin_budget_in_range"),
        ]

    def __str__(self) -> str:
        return f"{self.surface}, {self.context}, {self.model_family}"


class PromptSection(models.Model):
    """One section of a prompt: copy that belongs to no op. A prompt is its sections in order."""

    class Status(models.TextChoices):
        ACTIVE = "active", "active"
        RETIRED = "retired", "retired"

    prompt = models.CharField(
        max_length=60, validators=[word_validator], help_text="The prompt it belongs to, such as overview."
    )
    name = models.CharField(
        max_length=60, validators=[word_validator], help_text="Its name in requests. Unique within the prompt."
    )
    position = models.PositiveSmallIntegerField(default=0, help_text="Sections are sorted by position, lowest first.")
    title = models.CharField(max_length=200, help_text="Heading above the text.")
    text = models.TextField(max_length=8000, help_text="What the model reads, as plain text or Markdown.")
    status = models.CharField(
        max_length=10, choices=Status, default=Status.ACTIVE, help_text="Retired sections are not sent to models."
    )
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["prompt", "position", "name"]
        constraints = [
            # A section is requested by its name.
            models.UniqueConstraint(fields=["prompt", "name"], name="section_name_unique_in_prompt"),
            # A heading without text, or text without a heading, tells a model nothing.
            models.CheckConstraint(condition=Q(title__length__gt=0, text__length__gt=0), name="section_not_empty"),
            models.CheckConstraint(condition=Q(status__in=["active", "retired"]), name="section_status_known"),
        ]

    def __str__(self) -> str:
        return f"{self.prompt}, {self.name}"


class Vocabulary(models.Model):
    """Words that people and models say instead of one name or value of the catalog."""

    kind = models.CharField(
        max_length=10, choices=WordKind, help_text="The part of a call that the words stand for, such as an argument."
    )
    meaning = models.CharField(
        "stands for",
        max_length=100,
        validators=[validate_meaning],
        help_text="The catalog's own word: a kind of row such as task, an action such as schedule, an argument such as "
        "state_key, or a value such as done or 1.",
    )
    words = models.JSONField(
        default=list,
        blank=True,
        encoder=ReadableJSONEncoder,
        validators=[validate_words],
        help_text="In lower case with underscores, such as to_do. Empty: no word stands for it.",
    )
    argument = models.CharField(
        max_length=60,
        blank=True,
        validators=[_pattern_validator],
        help_text="Only for a value: the argument that takes it, such as priority; * stands for any characters.",
    )
    ops = models.CharField(
        max_length=200,
        blank=True,
        validators=[_pattern_validator],
        help_text="Only for a value: the paths of the ops with this argument, such as onto.*. Empty: all ops.",
    )
    source = build_source_field()
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["kind", "argument", "meaning", "ops"]
        verbose_name = "vocabulary entry"
        verbose_name_plural = "vocabulary"
        constraints = [
            # Entries are told apart by what they stand for.
            models.UniqueConstraint(fields=["kind", "argument", "meaning", "ops"], name="vocabulary_meaning_unique"),
            models.CheckConstraint(condition=Q(kind__in=list(WordKind)), name="vocabulary_kind_known"),
            models.CheckConstraint(condition=Q(meaning__length__gt=0), name="vocabulary_not_empty"),
            # A value means nothing without its argument, and other words are the same in all ops.
            models.CheckConstraint(
                condition=Q(kind=WordKind.VALUE, argument__length__gt=0)
                | (~Q(kind=WordKind.VALUE) & Q(argument="", ops="")),
                name="vocabulary_place_only_of_values",
            ),
        ]

    def __str__(self) -> str:
        return " ".join(filter(None, [self.get_kind_display(), self.argument, self.meaning, self.ops]))

    def clean(self) -> None:
        """Refuse a value without its argument, and the place of a value for anything else."""
        if self.kind == WordKind.VALUE and not self.argument:
            raise ValidationError({"argument": "Name the argument that takes this value."})
        if self.kind != WordKind.VALUE and (self.argument or self.ops):
            raise ValidationError({"argument": "Only a value has an argument and ops. Leave both empty."})
        length = len(build_name(self.kind, self.argument, self.meaning, self.ops))
        if length > MAX_NAME:
            message = f"The entry has a name of {length} characters, with what it stands for; the limit is {MAX_NAME}."
            raise ValidationError({"ops": f"{message} Use a shorter pattern."})

    def unique_error_message(self, model_class: type[models.Model], unique_check: Sequence[str]) -> ValidationError:
        return ValidationError(f"There is an entry for {self} already. Add the words to it.")
