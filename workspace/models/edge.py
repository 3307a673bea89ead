"""Edges: relations between the rows of a project."""

import uuid

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from workspace.models import base
from workspace.models.base import AsSent
from workspace.models.journal import JournaledModel, JournaledQuerySet


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


class Edge(JournaledModel):
    """A directed relation between two rows of one project, such as task depends_on task.

    The ends can be of any kind, so there are no foreign keys. Readers must skip edges with a deleted row at an end.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("workspace.Project", on_delete=models.CASCADE, related_name="edges", db_index=False)
    src_kind = models.CharField(max_length=20, choices=EdgeKind)
    src_id = models.UUIDField()
    rel = models.CharField(max_length=60, help_text="Relation of the source to the destination, such as depends_on.")
    dst_kind = models.CharField(max_length=20, choices=EdgeKind)
    dst_id = models.UUIDField()
    props = models.JSONField(blank=True, default=dict, decoder=AsSent)
    created_by = models.CharField(max_length=200, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = JournaledQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.entity.relationships.get and .links.get, in both directions.
            models.Index(fields=["src_id", "rel"], condition=Q(deleted_at=None), name="edge_from"),
            models.Index(fields=["dst_id", "rel"], condition=Q(deleted_at=None), name="edge_to"),
            # The whole graph of a project.
            models.Index(fields=["project"], condition=Q(deleted_at=None), name="edge_in_project"),
        ]
        constraints = [
            # Linking the same rows twice creates one edge.
            models.UniqueConstraint(
                fields=["src_id", "rel", "dst_id"], condition=Q(deleted_at=None), name="edge_unique_while_alive"
            ),
            # A self-edge has no meaning, and code that follows edges would loop.
            models.CheckConstraint(
                condition=~Q(src_id=F("dst_id")),
                name="edge_between_two_rows",
                violation_error_message="An edge must join two different rows.",
            ),
            # Rows of an unknown kind could not be looked up.
            base.require_choice("src_kind", EdgeKind, name="edge_src_kind_known"),
            base.require_choice("dst_kind", EdgeKind, name="edge_dst_kind_known"),
            # An edge without a relation has no meaning.
            base.require_text("rel", name="edge_rel_given"),
        ]

    def __str__(self) -> str:
        return f"{self.src_kind} {self.rel} {self.dst_kind}"
