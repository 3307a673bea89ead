"""The draft (rows that admins edit) and the releases made of it.

Whatever serves a model reads a release, never these rows.
"""

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Length

from core import nearest
from registry import schemas

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


def parent_of(path: str) -> str:
    """Return the path of the group that a path lies in; the root's children lie in `root`."""
    return path.rpartition(".")[0] or ROOT


def _list_of_text(value: object) -> None:
    if not isinstance(value, list) or any(not isinstance(item, str) or not item.strip() for item in value):
        raise ValidationError('Send a list of non-empty strings, such as ["project", "global"].')


def _map_of_text(value: object) -> None:
    if not isinstance(value, dict) or any(not isinstance(item, str) or not item for item in value.values()):
        raise ValidationError('Send an object of strings, such as {"search": "query"}.')


def _source() -> "models.CharField[str, str]":
    # A default in the database: what ran before this column was there still inserts rows.
    return models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="The group of the import that it came with; empty for what is shipped and for the admins' own.",
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
    source = _source()
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
        """Refuse a path that is an op's."""
        if Op.objects.filter(op=self.path).exists():
            raise ValidationError({"path": "An op has this path already. Rename the op or the group."})


class Op(models.Model):
    """One runnable command and all that a model reads of it."""

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
        help_text="What its upstream calls it, where its tool name cannot be that.",
    )
    kind = models.CharField(max_length=10, choices=Kind)
    entity = models.CharField(max_length=60, blank=True, help_text="What its operation event is about.")
    action = models.CharField(max_length=60, blank=True)
    category = models.CharField(max_length=40, blank=True)
    contexts = models.JSONField(default=list, blank=True, validators=[_list_of_text])
    keywords = models.JSONField(
        default=list, blank=True, validators=[_list_of_text], help_text="Words it is found by; never shown."
    )
    summary = models.CharField(max_length=200, help_text="One line, at most 12 words, read when the group is listed.")
    description = models.TextField(blank=True, max_length=4000)
    notes = models.TextField(blank=True, max_length=4000)
    parameters_schema = models.JSONField(default=schemas.no_arguments, help_text="JSON Schema 2020-12 of the args.")
    # A default in the database: what ran before this column was there still inserts rows.
    schema_text = models.TextField(
        blank=True, default="", db_default="", editable=False, help_text="The schema as an admin typed it last."
    )
    argument_aliases = models.JSONField(default=dict, blank=True, validators=[_map_of_text])
    display_only = models.JSONField(
        default=list, blank=True, validators=[_list_of_text], help_text="Arguments accepted and ignored."
    )
    needs_subject = models.BooleanField(default=True, help_text="Touches user data, so a call must name its subject.")
    confirm = models.BooleanField(default=False, help_text="Runs only once the end user has agreed to the call.")
    without_id = models.CharField(
        max_length=200, blank=True, help_text="Of a get: the op that runs instead when the id is left out."
    )
    timeout_ms = models.PositiveIntegerField(
        default=30_000, validators=[MinValueValidator(100), MaxValueValidator(120_000)], help_text="Milliseconds."
    )
    connection = models.ForeignKey(Connection, null=True, blank=True, on_delete=models.PROTECT, related_name="ops")
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    successor = models.CharField(max_length=200, blank=True, help_text="What to run instead, once retired.")
    source = _source()
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)
    # Kept by registry.counting. A default in the database: what ran before these columns were there still inserts.
    is_counted = models.BooleanField(default=False, db_default=False, editable=False)
    short_tokens = models.PositiveIntegerField(null=True, editable=False, help_text="Of its short help in the draft.")
    full_tokens = models.PositiveIntegerField(null=True, editable=False, help_text="Of its full help in the draft.")

    class Meta:
        ordering = ["op"]
        constraints = [
            # A list item without a summary tells a model nothing.
            models.CheckConstraint(condition=Q(summary__length__gt=0), name="op_summary_not_empty"),
            # Kind decides scope, transaction and confirmation: it is never anything else.
            models.CheckConstraint(condition=Q(kind__in=["read", "write"]), name="op_kind_known"),
            models.CheckConstraint(condition=Q(status__in=["active", "retired"]), name="op_status_known"),
            # A deadline of nothing refuses every call, one of hours holds a thread for hours.
            models.CheckConstraint(condition=Q(timeout_ms__range=(100, 120_000)), name="op_timeout_in_range"),
            # Only what is retired has a successor.
            models.CheckConstraint(condition=Q(status="retired") | Q(successor=""), name="op_successor_when_retired"),
        ]

    def __str__(self) -> str:
        return self.op

    def clean(self) -> None:
        """Give the person in the admin a sentence for what publishing would refuse."""
        found: dict[str, list[str]] = {}
        if problems := schemas.problems(self.parameters_schema):
            found["parameters_schema"] = problems
        if Group.objects.filter(path=self.op).exists():
            found["op"] = ["A group has this path already. Rename the op or the group."]
        parent = parent_of(self.op)
        if parent != ROOT and not Group.objects.filter(path=parent).exists():
            found["op"] = [f"The group {parent} is missing. Add it first, so that the path can be walked to."]
        if OpAlias.objects.filter(name__in=[self.op, self.tool_name]).exclude(op=self.pk).exists():
            found["tool_name"] = ["Another op has this name as an alias. Choose another, or remove that alias."]
        if found:
            raise ValidationError(found)


class PolicyRule(models.Model):
    """One sentence of an op's policy."""

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
    """One call that works, shown in help."""

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
        """Refuse an example that its op would refuse."""
        if self.op_id is None or schemas.problems(self.op.parameters_schema):
            return  # nothing to hold it against; the op's own form says why
        problems = schemas.instance_problems(self.op.parameters_schema, self.args, ignoring=self.op.display_only)
        if problems:
            raise ValidationError({"args": problems})


class OpAlias(models.Model):
    """Another name that an op answers to."""

    name = models.CharField(max_length=200, unique=True, validators=[name_validator])
    op = models.ForeignKey(Op, on_delete=models.CASCADE, related_name="aliases")

    class Meta:
        verbose_name_plural = "op aliases"
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Refuse a name that already means something."""
        if Op.objects.filter(Q(op=self.name) | Q(tool_name=self.name)).exists():
            raise ValidationError({"name": "An op has this path or tool name already; choose another alias."})
        if Group.objects.filter(path=self.name).exists():
            raise ValidationError({"name": "A group has this path already; choose another alias."})


class PromptSection(models.Model):
    """A passage of a prompt: of what a model reads that belongs to no op. A prompt is its sections in their order."""

    class Status(models.TextChoices):
        ACTIVE = "active", "active"
        RETIRED = "retired", "retired"

    prompt = models.CharField(
        max_length=60, validators=[word_validator], help_text="The prompt it is part of, such as overview."
    )
    name = models.CharField(
        max_length=60, validators=[word_validator], help_text="What it is asked for by; no other of its prompt has it."
    )
    position = models.PositiveSmallIntegerField(default=0, help_text="Sections are read from the lowest up.")
    title = models.CharField(max_length=200, help_text="A line above the text.")
    text = models.TextField(max_length=8000, help_text="What the model reads, in plain words or markdown.")
    status = models.CharField(
        max_length=10, choices=Status, default=Status.ACTIVE, help_text="A retired section is left out."
    )
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["prompt", "position", "name"]
        constraints = [
            # A section is asked for by its name.
            models.UniqueConstraint(fields=["prompt", "name"], name="section_name_unique_in_prompt"),
            # A heading over nothing, and text under none, tell a model nothing.
            models.CheckConstraint(condition=Q(title__length__gt=0, text__length__gt=0), name="section_not_empty"),
            models.CheckConstraint(condition=Q(status__in=["active", "retired"]), name="section_status_known"),
        ]

    def __str__(self) -> str:
        return f"{self.prompt}, {self.name}"


class SwitchQuerySet(models.QuerySet["Switch"]):
    """Switches by what they do."""

    def off(self) -> "SwitchQuerySet":
        """Those that keep something from running."""
        return self.filter(is_off=True)


class Switch(models.Model):
    """An op, group or connection that was turned off at once, without a release; or on again.

    It names what it is about: what comes back under the name later is still off.
    """

    class Kind(models.TextChoices):
        OP = "op", "op"
        GROUP = "group", "group"
        CONNECTION = "connection", "connection"

    kind = models.CharField(max_length=10, choices=Kind)
    name = models.CharField(max_length=200, help_text="The op's or group's path, or the connection's name.")
    is_off = models.BooleanField(default=True, help_text="Off: nothing of it runs or is listed, from now on.")
    reason = models.CharField(max_length=200, blank=True, help_text="Why. Whoever calls it reads this sentence.")
    changed_by = models.CharField(max_length=150, editable=False)
    changed_at = models.DateTimeField(editable=False)

    objects = SwitchQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "switches"
        ordering = ["-changed_at", "-id"]
        constraints = [
            # One answer to the question whether it is off.
            models.UniqueConstraint(fields=["kind", "name"], name="switch_once_a_target"),
            models.CheckConstraint(condition=Q(kind__in=["op", "group", "connection"]), name="switch_kind_known"),
            # A caller who is refused is told why.
            models.CheckConstraint(condition=Q(is_off=False) | Q(reason__length__gt=0), name="switch_off_has_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {'off' if self.is_off else 'on'}"

    def clean(self) -> None:
        """Refuse what nothing has the name of, and to turn off without a reason."""
        found: dict[str, str] = {}
        if self.is_off and not self.reason.strip():
            found["reason"] = "Say why it is off: whoever calls it reads this sentence."
        if self.kind in self.Kind.values and (names := self._names()) is not None and self.name not in names:
            close = nearest.close(self.name, names)
            mend = f" Close to it: {', '.join(close)}." if close else ""
            found["name"] = f"There is no {self.kind} {self.name}.{mend}"
        if found:
            raise ValidationError(found)

    def _names(self) -> set[str] | None:
        """Return what can be switched off; None to turn on again, for what is gone by now may be."""
        if not self.is_off:
            return None
        if self.kind == self.Kind.CONNECTION:
            return set(Connection.objects.values_list("name", flat=True))
        if self.kind == self.Kind.GROUP:
            return {ROOT, *Group.objects.values_list("path", flat=True)}
        live = Release.objects.filter(activations__is_live=True).values_list("tokens", flat=True).first()
        return {*Op.objects.values_list("op", flat=True), *(live or {})}  # also what only the draft has not any more


class Release(models.Model):
    """An immutable snapshot of all copy; its version is the hash of its content."""

    version = models.CharField(max_length=64, primary_key=True, editable=False)
    content = models.TextField(editable=False, help_text="RFC 8785 JSON; its SHA-256 is the version.")
    tokens = models.JSONField(editable=False, help_text="o200k_base tokens of each op's help: {op: [short, full]}.")
    op_count = models.PositiveIntegerField(editable=False)
    # Defaults in the database: what ran before these columns were there still inserts rows.
    accepted_warnings = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        editable=False,
        help_text="What the checks warned of that was not live before: [{op, field, rule, severity, message, fix}].",
    )
    accepted_because = models.CharField(
        max_length=500, default="", db_default="", editable=False, help_text="Why they were accepted."
    )
    created_at = models.DateTimeField(editable=False)
    created_by = models.CharField(max_length=150, editable=False)
    withdrawn_at = models.DateTimeField(null=True, editable=False)
    # Defaults in the database: what ran before these columns were there still inserts rows.
    withdrawn_by = models.CharField(max_length=150, blank=True, default="", db_default="", editable=False)
    withdrawn_reason = models.CharField(max_length=500, blank=True, default="", db_default="", editable=False)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            # Whoever misses it is told why and by whom.
            models.CheckConstraint(
                condition=Q(withdrawn_at=None) | (~Q(withdrawn_by="") & ~Q(withdrawn_reason="")),
                name="release_withdrawn_has_reason",
            ),
        ]

    def __str__(self) -> str:
        return self.version[:12]


class Activation(models.Model):
    """One moment at which a release went live; the row that is live is the pointer that all processes follow."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="activations")
    is_live = models.BooleanField(default=True)
    note = models.CharField(max_length=500)
    activated_at = models.DateTimeField()
    activated_by = models.CharField(max_length=150)

    class Meta:
        ordering = ["-activated_at", "-id"]
        constraints = [
            # One pointer: two releases can never be live at once. Also serves the follower's query.
            models.UniqueConstraint(fields=["is_live"], condition=Q(is_live=True), name="activation_one_live"),
        ]

    def __str__(self) -> str:
        return f"{self.release_id[:12]} at {self.activated_at:%Y-%m-%d %H:%M}"
