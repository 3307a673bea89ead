"""Documents."""

from collections.abc import Iterable, Sequence
from typing import Any, Self
from uuid import UUID

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Max, Q
from django.db.models.functions import Length

from workspace.models import base
from workspace.models.base import MAX_TAGS, Entity, EntityQuerySet, TagsField

MAX_CONTENT_LENGTH = 200_000  # characters


NOTES = base.filter_by_type("document.note")
BRAIN_DUMPS = base.filter_by_type("document.brain_dump")


class DocumentState(models.TextChoices):
    """The state of a document."""

    DRAFT = "draft", "draft"
    IN_REVIEW = "in_review", "in review"
    READY = "ready", "ready"
    PUBLISHED = "published", "published"
    ARCHIVED = "archived", "archived"


class DocumentQuerySet(EntityQuerySet["Document"]):
    """Documents, with the length of their content and their positions among siblings."""

    def children_of(self, parent_id: UUID | None, *, project_id: UUID) -> Self:
        """Filter to the direct children of a document of the project, or to the root documents if the id is None."""
        return self.filter(project=project_id, parent=parent_id, deleted_at=None)

    def with_context(self) -> Self:
        """Annotate the project's name and the length of the content in characters."""
        return super().with_context().annotate(content_length=Length("content"))

    def bulk_create(self, objs: Iterable["Document"], *args: Any, **kwargs: Any) -> list["Document"]:
        """Insert documents. Those without a position go last among their siblings, in the given order."""
        documents = list(objs)
        append_to_siblings(documents)
        return super().bulk_create(documents, *args, **kwargs)


class Document(Entity):
    """A Markdown text in a project."""

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="documents",
        db_index=False,  # the index below begins with it
        help_text="The project that the document belongs to.",
    )
    title = models.CharField(max_length=300, help_text="Title of the document.")
    content = models.TextField(
        blank=True, default="", max_length=MAX_CONTENT_LENGTH, help_text="The text, in Markdown."
    )
    type_key = models.CharField(
        "type",
        max_length=100,
        default="document.default",
        validators=[RegexValidator(r"^document\.[a-z_]+(\.[a-z_]+)?$")],
        help_text="The type of document: document.<kind> or document.<kind>.<variant>.",
    )
    parent = models.ForeignKey(
        "self",
        on_delete=models.CASCADE,
        related_name="children",
        null=True,
        blank=True,
        db_index=False,  # the index of document_place_below_unique begins with it
        help_text="The parent document, in the same project; null at the root.",
    )
    position = models.PositiveIntegerField(
        null=True,  # in rows older than this column, and during a move
        editable=False,
        help_text="Position among its siblings, from 0 without gaps; a deleted document keeps its last position.",
    )
    state_key = models.CharField(
        "state",
        max_length=20,
        choices=DocumentState,
        default=DocumentState.DRAFT.value,
        help_text="State of the document, from draft to published and archived.",
    )
    category = models.CharField(
        max_length=60,
        blank=True,
        default="",
        help_text="Topic of a note in one or two words, to find notes by; null clears it.",
    )
    tags = TagsField(
        blank=True, default=list, db_default="", help_text=f"At most {MAX_TAGS} short labels, one per line."
    )
    ai_summary = models.TextField(
        blank=True, default="", max_length=5_000, help_text="A model's summary of a brain dump; null clears it."
    )
    operation_count = models.PositiveIntegerField(
        null=True, blank=True, help_text="Number of operations that a brain dump led to; null if not counted."
    )

    project_name: str  # set by with_context()

    objects = DocumentQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.document.list and .search: pages of a project's documents, newest update first.
            models.Index(
                fields=["project", "-updated_at", "-id"], condition=Q(deleted_at=None), name="document_page_in_project"
            ),
        ]
        constraints = [
            # Without a title a document cannot be identified in a list.
            base.require_text("title", name="document_title_given"),
            # With another prefix, no filter for document types would find the row.
            base.require_type_prefix("document.", name="document_type_key_of_document"),
            # No filter would find a state outside the enum.
            base.require_choice("state_key", DocumentState, name="document_state_known"),
            # A document cannot be its own parent. The tree service prevents longer cycles.
            models.CheckConstraint(
                condition=Q(parent=None) | ~Q(parent=F("pk")),
                name="document_not_its_own_parent",
                violation_error_message="parent must be a different document.",
            ),
            # Two siblings with the same position would have no stable order. Two constraints are needed because SQL
            # does not compare null parents with each other. A deleted document gives up its position.
            models.UniqueConstraint(
                fields=["parent", "position"], condition=Q(deleted_at=None), name="document_place_below_unique"
            ),
            models.UniqueConstraint(
                fields=["project", "position"],
                condition=Q(deleted_at=None, parent=None),
                name="document_place_at_root_unique",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save the document. A new one without a position goes last among its siblings."""
        if self._state.adding:
            append_to_siblings([self])
        super().save(*args, **kwargs)


def append_to_siblings(documents: Sequence[Document]) -> None:
    """Give new documents without a position the next positions among their siblings, in the given order.

    If others can see the project, the caller must hold the tree's lock (`services.tree`). Otherwise two documents can
    get the same position.
    """
    unplaced = [document for document in documents if document.position is None and document.deleted_at is None]
    if not unplaced:
        return
    siblings = Document.objects.filter(project__in={document.project_id for document in unplaced}, deleted_at=None)
    last_positions = siblings.order_by().values_list("project", "parent").annotate(last=Max("position"))
    next_positions = {
        (project, parent): position + 1 for project, parent, position in last_positions if position is not None
    }
    for document in unplaced:
        key = (document.project_id, document.parent_id)
        document.position = next_positions.get(key, 0)
        next_positions[key] = document.position + 1
