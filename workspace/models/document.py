"""Documents."""

from collections.abc import Iterable, Sequence
from typing import Any, Self
from uuid import UUID

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import F, Max, Q
from django.db.models.functions import Length

from workspace.models import rules
from workspace.models.entity import Entity, EntityQuerySet

LONGEST_CONTENT = 200_000  # characters


def _of_type(type_key: str) -> Q:
    """Documents of a type, its variants included."""
    return Q(type_key=type_key) | Q(type_key__startswith=f"{type_key}.")


NOTES = _of_type("document.note")
BRAIN_DUMPS = _of_type("document.brain_dump")


class DocumentState(models.TextChoices):
    """Where a document stands."""

    DRAFT = "draft", "draft"
    IN_REVIEW = "in_review", "in review"
    READY = "ready", "ready"
    PUBLISHED = "published", "published"
    ARCHIVED = "archived", "archived"


class DocumentQuerySet(EntityQuerySet["Document"]):
    """Documents, whose text is measured before it is fetched, and of which each has a place among its siblings."""

    def children_of(self, parent_id: UUID | None, *, project_id: UUID) -> Self:
        """Keep the documents that lie directly under a document of the project; under None those at its root."""
        return self.filter(project=project_id, parent=parent_id, deleted_at=None)

    def with_context(self) -> Self:
        """Add the project's name, and how many characters the content has."""
        return super().with_context().annotate(content_length=Length("content"))

    def bulk_create(self, objs: Iterable["Document"], *args: Any, **kwargs: Any) -> list["Document"]:
        """Insert documents; those without a position come last among their siblings, in the order given."""
        documents = list(objs)
        place_last(documents)
        return super().bulk_create(documents, *args, **kwargs)


class Document(Entity):
    """A text in markdown that belongs to a project."""

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="documents",
        db_index=False,  # the index below begins with it
        help_text="The project that the document is in.",
    )
    title = models.CharField(max_length=300, help_text="What the document is called.")
    content = models.TextField(
        blank=True, default="", max_length=LONGEST_CONTENT, help_text="The text itself, in markdown."
    )
    type_key = models.CharField(
        max_length=100,
        default="document.default",
        validators=[RegexValidator(r"^document\.[a-z_]+(\.[a-z_]+)?$")],
        help_text="The kind of text: document.<kind> or document.<kind>.<variant>.",
    )
    parent = models.ForeignKey(
        "self",
        on_delete=models.CASCADE,
        related_name="children",
        null=True,
        blank=True,
        db_index=False,  # the index of document_place_below_unique begins with it
        help_text="The document of the same project that it lies under; null: at the root.",
    )
    position = models.PositiveIntegerField(
        null=True,  # as it was before there were places, and still while a move is under way
        editable=False,
        help_text="Its place among its siblings, from 0 without a gap; of a deleted document its last.",
    )
    state_key = models.CharField(
        max_length=20,
        choices=DocumentState,
        default=DocumentState.DRAFT.value,
        help_text="How far the document has come, from draft to published and archived.",
    )
    category = models.CharField(
        max_length=60,
        blank=True,
        default="",
        help_text="What a note is about, in a word or two, to find notes by; null clears it.",
    )
    ai_summary = models.TextField(
        blank=True, default="", max_length=5_000, help_text="What a model made of a brain dump; null clears it."
    )
    operation_count = models.PositiveIntegerField(
        null=True, blank=True, help_text="How many operations a brain dump led to; null where none were counted."
    )

    project_name: str  # set by with_context()

    objects = DocumentQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.document.list and .search: the newest documents of a project, page by page.
            models.Index(
                fields=["project", "-updated_at", "-id"], condition=Q(deleted_at=None), name="document_page_in_project"
            ),
        ]
        constraints = [
            # A document that cannot be named cannot be picked from a list.
            rules.not_empty("title", name="document_title_given"),
            # Type keys of other kinds would be found by nobody who looks for documents.
            rules.typed("document.", name="document_type_key_of_document"),
            # A state outside the enum would be in no filter.
            rules.one_of("state_key", DocumentState, name="document_state_known"),
            # A document under itself would be in no tree. Longer circles are the service's to refuse.
            models.CheckConstraint(
                condition=Q(parent=None) | ~Q(parent=F("pk")),
                name="document_not_its_own_parent",
                violation_error_message="parent must be another document.",
            ),
            # Two siblings in one place would stand in an order that changes from read to read. It takes two rules, for
            # SQL holds no two parents that are null against each other. A deleted document leaves its place.
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
        """Save; a new document without a position comes last among its siblings."""
        if self._state.adding:
            place_last([self])
        super().save(*args, **kwargs)


def place_last(documents: Sequence[Document]) -> None:
    """Give new documents without a position the next ones among their siblings, in the order given.

    Whoever adds to a project that others can see holds its tree (`services.tree.hold`), or two take one place.
    """
    waiting = [each for each in documents if each.position is None and each.deleted_at is None]
    if not waiting:
        return
    families = Document.objects.filter(project__in={each.project_id for each in waiting}, deleted_at=None)
    last = families.order_by().values_list("project", "parent").annotate(last=Max("position"))
    free = {(project, parent): position + 1 for project, parent, position in last if position is not None}
    for each in waiting:
        family = (each.project_id, each.parent_id)
        each.position = free.get(family, 0)
        free[family] = each.position + 1
