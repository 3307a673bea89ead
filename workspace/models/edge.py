"""Edges: how rows of a project hang together."""

import uuid

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from workspace.models import rules
from workspace.models.entity import AsSent


class EdgeKind(models.TextChoices):
    """The kinds of rows that an edge can join."""

    PROJECT = "project", "project"
    TASK = "task", "task"
    DOCUMENT = "document", "document"
    GOAL = "goal", "goal"
    PLAN = "plan", "plan"
    MILESTONE = "milestone", "milestone"
    RISK = "risk", "risk"
    REQUIREMENT = "requirement", "requirement"


class Edge(models.Model):
    """A directed relation between two rows of one project, such as task depends_on task.

    Its ends are of any kind, so no foreign key holds them; who reads an edge leaves out those whose row is deleted.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("workspace.Project", on_delete=models.CASCADE, related_name="edges", db_index=False)
    src_kind = models.CharField(max_length=20, choices=EdgeKind)
    src_id = models.UUIDField()
    rel = models.CharField(max_length=60, help_text="What the source is to the destination, such as depends_on.")
    dst_kind = models.CharField(max_length=20, choices=EdgeKind)
    dst_id = models.UUIDField()
    props = models.JSONField(blank=True, default=dict, decoder=AsSent)
    created_by = models.CharField(max_length=200, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        indexes = [
            # Both directions of onto.entity.relationships.get and .links.get.
            models.Index(fields=["src_id", "rel"], condition=Q(deleted_at=None), name="edge_from"),
            models.Index(fields=["dst_id", "rel"], condition=Q(deleted_at=None), name="edge_to"),
            # A project's whole graph.
            models.Index(fields=["project"], condition=Q(deleted_at=None), name="edge_in_project"),
        ]
        constraints = [
            # Linking twice links once.
            models.UniqueConstraint(
                fields=["src_id", "rel", "dst_id"], condition=Q(deleted_at=None), name="edge_unique_while_alive"
            ),
            # An edge to itself says nothing, and loops whoever follows it.
            models.CheckConstraint(
                condition=~Q(src_id=F("dst_id")),
                name="edge_between_two_rows",
                violation_error_message="An edge joins two different rows.",
            ),
            # Rows of an unknown kind could be found by nobody.
            rules.one_of("src_kind", EdgeKind, name="edge_src_kind_known"),
            rules.one_of("dst_kind", EdgeKind, name="edge_dst_kind_known"),
            # A relation that cannot be named cannot be told.
            rules.not_empty("rel", name="edge_rel_given"),
        ]

    def __str__(self) -> str:
        return f"{self.src_kind} {self.rel} {self.dst_kind}"
