"""Documents."""

from typing import Self

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Length

from workspace.models import rules
from workspace.models.entity import Entity, EntityQuerySet

LONGEST_CONTENT = 200_000  # characters


class DocumentState(models.TextChoices):
    """Where a document stands."""

    DRAFT = "draft", "draft"
    IN_REVIEW = "in_review", "in review"
    READY = "ready", "ready"
    PUBLISHED = "published", "published"
    ARCHIVED = "archived", "archived"


class DocumentQuerySet(EntityQuerySet["Document"]):
    """Documents, whose text is measured before it is fetched."""

    def with_context(self) -> Self:
        """Add the project's name, and how many characters the content has."""
        return super().with_context().annotate(content_length=Length("content"))


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
    state_key = models.CharField(
        max_length=20,
        choices=DocumentState,
        default=DocumentState.DRAFT.value,
        help_text="How far the document has come, from draft to published and archived.",
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
        ]

    def __str__(self) -> str:
        return self.title
