"""Groups, ops and their aliases. They share one namespace, so each checks its names against the others."""

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from registry import request_mapping
from registry.flow_labels import validate_flow_labels
from registry.jsonschema import dialect, schema_check
from registry.jsonschema.arguments import iter_arguments
from registry.models.connection import Connection
from registry.models.fields import (
    build_source_field,
    discovery_name_validator,
    name_validator,
    path_validator,
    validate_text_list,
    validate_text_map,
)

ROOT = "root"


def get_parent_path(path: str) -> str:
    """Return the path of the group that contains a path; `root` for a top-level path."""
    return path.rpartition(".")[0] or ROOT


class Group(models.Model):
    """A node with children in the tree of names."""

    path = models.CharField(max_length=200, unique=True, validators=[path_validator])
    summary = models.CharField(max_length=200, help_text="One line, at most 12 words, read when the parent is listed.")
    # A database default, because processes of the previous version insert rows without this column.
    discovery_name = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        validators=[discovery_name_validator],
        help_text="Makes the group a domain of the discovery surface: the tool that lists its ops, such as "
        "discover_crm_tools.",
    )
    discovery_summary = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        help_text="The description of that tool, in about four words. Empty: the summary.",
    )
    source = build_source_field()
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["path"]
        constraints = [
            # A list item without a summary tells a model nothing.
            models.CheckConstraint(condition=Q(summary__length__gt=0), name="group_summary_not_empty"),
            # A discovery tool lists one domain.
            models.UniqueConstraint(
                fields=["discovery_name"], condition=~Q(discovery_name=""), name="group_discovery_name_unique"
            ),
        ]

    def __str__(self) -> str:
        return self.path

    def clean(self) -> None:
        """Refuse a path that an op has, or whose parent group is missing: publishing would also refuse it."""
        if Op.objects.filter(op=self.path).exists():
            raise ValidationError({"path": "An op already has this path. Rename the op or the group."})
        parent = get_parent_path(self.path)
        if parent != ROOT and not Group.objects.filter(path=parent).exists():
            raise ValidationError({"path": f"The group {parent} does not exist. Add it first."})


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
        max_length=500,
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
    contexts = models.JSONField(default=list, blank=True, validators=[validate_text_list])
    keywords = models.JSONField(
        default=list, blank=True, validators=[validate_text_list], help_text="Extra words for search. Never shown."
    )
    summary = models.CharField(max_length=200, help_text="One line, at most 12 words, read when the group is listed.")
    description = models.TextField(blank=True, max_length=4000)
    notes = models.TextField(blank=True, max_length=4000)
    parameters_schema = models.JSONField(
        default=dialect.build_empty_schema, help_text="JSON Schema 2020-12 of the args."
    )
    # A database default, because processes of the previous version insert rows without this column.
    schema_text = models.TextField(
        blank=True, default="", db_default="", editable=False, help_text="The schema as an admin last typed it."
    )
    # Database defaults, because processes of the previous version insert rows without these columns.
    request = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text="The HTTP request: method, path, and where each argument goes. Only for ops of an HTTP service.",
    )
    result_fields = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        validators=[validate_text_list],
        help_text="What a model sees of an HTTP service's answer, such as items.id. Empty: all of it.",
    )
    result_row = models.JSONField(
        "answer row",
        default=dict,
        db_default={},
        blank=True,
        validators=[validate_text_map],
        help_text='Where an answer has its row: {"id": "order.id", "name": "order.title"}. Empty: it is looked for.',
    )
    argument_aliases = models.JSONField(default=dict, blank=True, validators=[validate_text_map])
    display_only = models.JSONField(
        default=list, blank=True, validators=[validate_text_list], help_text="Arguments accepted and ignored."
    )
    needs_subject = models.BooleanField(default=True, help_text="Uses user data, so a call must name its subject.")
    confirm = models.BooleanField(default=False, help_text="Runs only after the end user confirms the call.")
    # A database default, because processes of the previous version insert rows without this column.
    flow_labels = models.JSONField(
        "data flow",
        default=list,
        db_default=[],
        blank=True,
        validators=[validate_flow_labels],
        help_text="What its data is. The labels of its connection count as well.",
    )
    # A database default, because processes of the previous version insert rows without this column.
    required_scope = models.CharField(
        max_length=20,
        blank=True,
        default="",
        db_default="",
        help_text="A scope that the API key needs besides exec, such as toolset. Agents never run such ops.",
    )
    without_id = models.CharField(
        max_length=200, blank=True, help_text="For a get op: the op that runs instead if the call has no id."
    )
    timeout_ms = models.PositiveIntegerField(
        "timeout (ms)", default=30_000, validators=[MinValueValidator(100), MaxValueValidator(120_000)]
    )
    connection = models.ForeignKey(Connection, null=True, blank=True, on_delete=models.PROTECT, related_name="ops")
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    successor = models.CharField(max_length=200, blank=True, help_text="The op to run instead of a retired one.")
    source = build_source_field()
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)
    # Set by registry.releases.unpublished. Database default: processes of the previous version insert rows without
    # it.
    is_counted = models.BooleanField(default=False, db_default=False, editable=False)
    short_tokens = models.PositiveIntegerField(null=True, editable=False, help_text="Tokens of its short draft help.")
    full_tokens = models.PositiveIntegerField(null=True, editable=False, help_text="Tokens of its full draft help.")

    class Meta:
        ordering = ["op"]
        permissions = [("run_op", "Can run a write for real when trying it")]
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
        if problems := schema_check.find_problems(self.parameters_schema):
            errors["parameters_schema"] = problems
        elif self.request and (problems := request_mapping.find_problems(self.request, self._list_arguments())):
            errors["request"] = problems
        if Group.objects.filter(path=self.op).exists():
            errors["op"] = ["A group already has this path. Rename the op or the group."]
        parent = get_parent_path(self.op)
        if parent != ROOT and not Group.objects.filter(path=parent).exists():
            errors["op"] = [f"The group {parent} does not exist. Add it first."]
        if OpAlias.objects.filter(name__in=[self.op, self.tool_name]).exclude(op=self.pk).exists():
            errors["tool_name"] = ["Another op has this name as an alias. Choose another name, or remove that alias."]
        if self.successor and self.status != self.Status.RETIRED:
            errors["successor"] = ["Only a retired op has a successor. Retire this op, or clear the field."]
        if errors:
            raise ValidationError(errors)

    def _list_arguments(self) -> list[str]:
        return [name for name, _, _ in iter_arguments(self.parameters_schema)]


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
            raise ValidationError({"name": "An op already has this path or tool name. Choose another alias."})
        if Group.objects.filter(path=self.name).exists():
            raise ValidationError({"name": "A group already has this path. Choose another alias."})
