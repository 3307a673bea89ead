"""The draft (rows that admins edit) and the releases made from it.

Code that serves a model reads a release, never the draft's rows.
"""

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Length

from core import suggestions
from registry.jsonschema import schemas

models.TextField.register_lookup(Length, "length")
models.CharField.register_lookup(Length, "length")

ROOT = "root"

path_validator = RegexValidator(
    r"\A[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*\Z",
    "A path is lower-case words joined by dots, such as onto.task.update.",
)
name_validator = RegexValidator(
    r"\A[A-Za-z0-9_.-]{1,128}\Z", "A name has letters, digits, dots, dashes and underscores; at most 128."
)
word_validator = RegexValidator(r"\A[a-z][a-z0-9_]*\Z", "Lower-case letters, digits and underscores, such as overview.")


def get_parent_path(path: str) -> str:
    """Return the path of the group that contains a path; `root` for a top-level path."""
    return path.rpartition(".")[0] or ROOT


def _list_of_text(value: object) -> None:
    if not isinstance(value, list) or any(not isinstance(item, str) or not item.strip() for item in value):
        raise ValidationError('Send a list of non-empty strings, such as ["project", "global"].')


def _map_of_text(value: object) -> None:
    if not isinstance(value, dict) or any(not isinstance(item, str) or not item for item in value.values()):
        raise ValidationError('Send an object of strings, such as {"search": "query"}.')


def _source_field() -> "models.CharField[str, str]":
    # A database default, because processes of the previous version insert rows without this column.
    return models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="Group of the import it came from. Empty for shipped rows and rows added by admins.",
    )


class Connection(models.Model):
    """An upstream that runs ops."""

    class Kind(models.TextChoices):
        EMBEDDED = "embedded", "embedded"

    name = models.CharField(max_length=60, unique=True, validators=[name_validator])
    kind = models.CharField(max_length=20, choices=Kind, default=Kind.EMBEDDED)

    def __str__(self) -> str:
        return self.name


class Group(models.Model):
    """A node with children in the tree of names."""

    path = models.CharField(max_length=200, unique=True, validators=[path_validator])
    summary = models.CharField(max_length=200, help_text="One line, at most 12 words, read when the parent is listed.")
    source = _source_field()
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["path"]
        constraints = [
            # A list item without a summary tells a model nothing.
            models.CheckConstraint(condition=Q(summary__length__gt=0), name="group_summary_not_empty"),
        ]

    def __str__(self) -> str:
        return self.path

    def clean(self) -> None:
        """Refuse a path that an op has."""
        if Op.objects.filter(op=self.path).exists():
            raise ValidationError({"path": "An op has this path already. Rename the op or the group."})


class Op(models.Model):
    """One runnable command, with the copy that a model reads about it."""

    class Kind(models.TextChoices):
        READ = "read", "read"
        WRITE = "write", "write"

    class Status(models.TextChoices):
        ACTIVE = "active", "active"
        RETIRED = "retired", "retired"

    op = models.CharField(max_length=200, unique=True, validators=[path_validator])
    tool_name = models.CharField(max_length=128, unique=True, validators=[name_validator])
    upstream_name = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="The upstream's name, if it cannot be the tool name.",
    )
    kind = models.CharField(max_length=10, choices=Kind)
    entity = models.CharField(max_length=60, blank=True, help_text="The entity in its operation events.")
    action = models.CharField(max_length=60, blank=True)
    category = models.CharField(max_length=40, blank=True)
    contexts = models.JSONField(default=list, blank=True, validators=[_list_of_text])
    keywords = models.JSONField(
        default=list, blank=True, validators=[_list_of_text], help_text="Extra words for search. Never shown."
    )
    summary = models.CharField(max_length=200, help_text="One line, at most 12 words, read when the group is listed.")
    description = models.TextField(blank=True, max_length=4000)
    notes = models.TextField(blank=True, max_length=4000)
    parameters_schema = models.JSONField(default=schemas.no_arguments, help_text="JSON Schema 2020-12 of the args.")
    # A database default, because processes of the previous version insert rows without this column.
    schema_text = models.TextField(
        blank=True, default="", db_default="", editable=False, help_text="The schema as an admin last typed it."
    )
    argument_aliases = models.JSONField(default=dict, blank=True, validators=[_map_of_text])
    display_only = models.JSONField(
        default=list, blank=True, validators=[_list_of_text], help_text="Arguments accepted and ignored."
    )
    needs_subject = models.BooleanField(default=True, help_text="Uses user data, so a call must name its subject.")
    confirm = models.BooleanField(default=False, help_text="Runs only after the end user confirms the call.")
    without_id = models.CharField(
        max_length=200, blank=True, help_text="For a get op: the op that runs instead if the call has no id."
    )
    timeout_ms = models.PositiveIntegerField(
        default=30_000, validators=[MinValueValidator(100), MaxValueValidator(120_000)], help_text="Milliseconds."
    )
    connection = models.ForeignKey(Connection, null=True, blank=True, on_delete=models.PROTECT, related_name="ops")
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    successor = models.CharField(max_length=200, blank=True, help_text="The op to run instead of a retired one.")
    source = _source_field()
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)
    # Set by registry.releases.token_count_job. Database default: processes of the previous version insert rows without
    # it.
    is_counted = models.BooleanField(default=False, db_default=False, editable=False)
    short_tokens = models.PositiveIntegerField(null=True, editable=False, help_text="Tokens of its short draft help.")
    full_tokens = models.PositiveIntegerField(null=True, editable=False, help_text="Tokens of its full draft help.")

    class Meta:
        ordering = ["op"]
        constraints = [
            # A list item without a summary tells a model nothing.
            models.CheckConstraint(condition=Q(summary__length__gt=0), name="op_summary_not_empty"),
            # Scope, transaction and confirmation depend on the kind.
            models.CheckConstraint(condition=Q(kind__in=["read", "write"]), name="op_kind_known"),
            models.CheckConstraint(condition=Q(status__in=["active", "retired"]), name="op_status_known"),
            # A timeout of zero would refuse every call; one of hours would block a thread for hours.
            models.CheckConstraint(condition=Q(timeout_ms__range=(100, 120_000)), name="op_timeout_in_range"),
            # Only a retired op has a successor.
            models.CheckConstraint(condition=Q(status="retired") | Q(successor=""), name="op_successor_when_retired"),
        ]

    def __str__(self) -> str:
        return self.op

    def clean(self) -> None:
        """Raise ValidationError with a message for problems that publishing would refuse."""
        errors: dict[str, list[str]] = {}
        if problems := schemas.find_problems(self.parameters_schema):
            errors["parameters_schema"] = problems
        if Group.objects.filter(path=self.op).exists():
            errors["op"] = ["A group has this path already. Rename the op or the group."]
        parent = get_parent_path(self.op)
        if parent != ROOT and not Group.objects.filter(path=parent).exists():
            errors["op"] = [f"The group {parent} does not exist. Add it first."]
        if OpAlias.objects.filter(name__in=[self.op, self.tool_name]).exclude(op=self.pk).exists():
            errors["tool_name"] = ["Another op has this name as an alias. Choose another name, or remove that alias."]
        if errors:
            raise ValidationError(errors)


class PolicyRule(models.Model):
    """One rule of an op's policy: something to do, something not to do, or an edge case."""

    class Kind(models.TextChoices):
        DO = "do", "do"
        DONT = "dont", "dont"
        EDGE_CASE = "edge_case", "edge case"

    op = models.ForeignKey(Op, on_delete=models.CASCADE, related_name="rules")
    kind = models.CharField(max_length=10, choices=Kind)
    text = models.CharField(max_length=300)
    position = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["kind", "position", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=["do", "dont", "edge_case"]), name="rule_kind_known"),
            models.CheckConstraint(condition=Q(text__length__gt=0), name="rule_text_not_empty"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class Example(models.Model):
    """One working call, shown in help."""

    op = models.ForeignKey(Op, on_delete=models.CASCADE, related_name="examples")
    title = models.CharField(max_length=100, blank=True)
    args = models.JSONField(default=dict, blank=True)
    note = models.CharField(max_length=300, blank=True)
    position = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["position", "id"]

    def __str__(self) -> str:
        return self.title or f"example {self.position}"

    def clean(self) -> None:
        """Refuse args that the op's schema does not allow."""
        if self.op_id is None or schemas.find_problems(self.op.parameters_schema):
            return  # no valid schema to check against; the op's own form reports that
        problems = schemas.find_instance_problems(self.op.parameters_schema, self.args, ignoring=self.op.display_only)
        if problems:
            raise ValidationError({"args": problems})


class OpAlias(models.Model):
    """Another name that an op answers to."""

    name = models.CharField(max_length=200, unique=True, validators=[name_validator])
    op = models.ForeignKey(Op, on_delete=models.CASCADE, related_name="aliases")

    class Meta:
        verbose_name = "alias"
        verbose_name_plural = "aliases"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Refuse a name that already means something."""
        if Op.objects.filter(Q(op=self.name) | Q(tool_name=self.name)).exists():
            raise ValidationError({"name": "An op has this path or tool name already. Choose another alias."})
        if Group.objects.filter(path=self.name).exists():
            raise ValidationError({"name": "A group has this path already. Choose another alias."})


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


class SwitchQuerySet(models.QuerySet["Switch"]):
    """Filters for switches."""

    def off(self) -> "SwitchQuerySet":
        """Return the switches that are off."""
        return self.filter(is_off=True)


class Switch(models.Model):
    """The state of an op, group or connection that was switched off (or on again) at once, without a release.

    It refers to its target by name. A target that is removed and added again under that name is still off.
    """

    class Kind(models.TextChoices):
        OP = "op", "op"
        GROUP = "group", "group"
        CONNECTION = "connection", "connection"

    kind = models.CharField(max_length=10, choices=Kind)
    name = models.CharField(max_length=200, help_text="Path of the op or group, or name of the connection.")
    is_off = models.BooleanField(default=True, help_text="While off, it is not listed and does not run.")
    reason = models.CharField(max_length=200, blank=True, help_text="Callers read this sentence.")
    changed_by = models.CharField(max_length=150, editable=False)
    changed_at = models.DateTimeField(editable=False)

    objects = SwitchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "switches"
        ordering = ["-changed_at", "-id"]
        constraints = [
            # A target has one state.
            models.UniqueConstraint(fields=["kind", "name"], name="switch_once_a_target"),
            models.CheckConstraint(condition=Q(kind__in=["op", "group", "connection"]), name="switch_kind_known"),
            # A refused caller reads the reason.
            models.CheckConstraint(condition=Q(is_off=False) | Q(reason__length__gt=0), name="switch_off_has_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {'off' if self.is_off else 'on'}"

    def clean(self) -> None:
        """Refuse an unknown name, and switching off without a reason."""
        errors: dict[str, str] = {}
        if self.is_off and not self.reason.strip():
            errors["reason"] = "Give a reason. Callers read this sentence."
        if self.kind in self.Kind.values and (names := self._get_valid_names()) is not None and self.name not in names:
            close_names = suggestions.find_similar(self.name, names)
            hint = f" Did you mean {', '.join(close_names)}?" if close_names else ""
            errors["name"] = f"There is no {self.kind} {self.name}.{hint}"
        if errors:
            raise ValidationError(errors)

    def _get_valid_names(self) -> set[str] | None:
        """Return the names that can be switched off. None when switching on: the target may no longer exist."""
        if not self.is_off:
            return None
        if self.kind == self.Kind.CONNECTION:
            return set(Connection.objects.values_list("name", flat=True))
        if self.kind == self.Kind.GROUP:
            return {ROOT, *Group.objects.values_list("path", flat=True)}
        live = Release.objects.filter(activations__is_live=True).values_list("tokens", flat=True).first()
        return {*Op.objects.values_list("op", flat=True), *(live or {})}  # including live ops removed from the draft


class Release(models.Model):
    """An immutable snapshot of all copy. Its version is the hash of its content."""

    version = models.CharField(max_length=64, primary_key=True, editable=False)
    content = models.TextField(editable=False, help_text="RFC 8785 JSON; its SHA-256 is the version.")
    tokens = models.JSONField(editable=False, help_text="o200k_base tokens of each op's help: {op: [short, full]}.")
    op_count = models.PositiveIntegerField(editable=False)
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
    created_at = models.DateTimeField(editable=False)
    created_by = models.CharField(max_length=150, editable=False)
    withdrawn_at = models.DateTimeField(null=True, editable=False)
    # Database defaults, because processes of the previous version insert rows without these columns.
    withdrawn_by = models.CharField(max_length=150, blank=True, default="", db_default="", editable=False)
    withdrawn_reason = models.CharField(max_length=500, blank=True, default="", db_default="", editable=False)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            # Anyone who asks for it is told the reason and who withdrew it.
            models.CheckConstraint(
                condition=Q(withdrawn_at=None) | (~Q(withdrawn_by="") & ~Q(withdrawn_reason="")),
                name="release_withdrawn_has_reason",
            ),
        ]

    def __str__(self) -> str:
        return self.version[:12]


class Activation(models.Model):
    """One time that a release was made live. The row with `is_live` is the pointer that all processes follow."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="activations")
    is_live = models.BooleanField(default=True)
    note = models.CharField(max_length=500)
    activated_at = models.DateTimeField()
    activated_by = models.CharField(max_length=150)

    class Meta:
        verbose_name = "release history entry"
        verbose_name_plural = "release history"
        ordering = ["-activated_at", "-id"]
        constraints = [
            # Two releases can never be live at once. The index also serves the query that polls for the live release.
            models.UniqueConstraint(fields=["is_live"], condition=Q(is_live=True), name="activation_one_live"),
        ]

    def __str__(self) -> str:
        return f"{self.release_id[:12]} at {self.activated_at:%Y-%m-%d %H:%M}"
