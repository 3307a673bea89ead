"""The first document of a new project: a summary of what is known about it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from workspace.entity_types import DOCUMENT, GOAL, MILESTONE, PLAN, REQUIREMENT, RISK, TASK, EntityType
from workspace.errors import ArgumentError
from workspace.handlers.projects import new_entities
from workspace.handlers.projects.new_entities import NewEntities
from workspace.models import Document, Edge, EdgeKind, Project
from workspace.models.document import MAX_CONTENT_LENGTH
from workspace.relations import Rel, Relation
from workspace.services.edges import edges

TYPE_KEY = "document.context.project"
MAX_NAME_LENGTH = 280  # characters of the project's name in the document's title

# The sections of the summary: heading and kind of the rows listed.
SECTIONS = (
    ("Goals", GOAL),
    ("Milestones", MILESTONE),
    ("Plans", PLAN),
    ("Tasks", TASK),
    ("Requirements", REQUIREMENT),
    ("Risks", RISK),
)
EMPTY_CONTENT = "Nothing more is known about this project yet."

PROJECT_HAS_DOCUMENT = Relation(EdgeKind.PROJECT, Rel.HAS_DOCUMENT, EdgeKind.DOCUMENT)


@dataclass(frozen=True, slots=True)
class ProjectBrief:
    """The unsaved document and the edge from the project to it, with errors and warnings about repairs."""

    document: Document
    edge: Edge
    errors: list[ArgumentError]
    warnings: list[str]


def build_brief(
    sent: Mapping[str, Any] | None, created_entities: NewEntities, *, project: Project, by: str, at: datetime
) -> ProjectBrief:
    """Build the document that was sent, or one from the project's texts and first rows."""
    default_fields = {
        "title": f"{project.name[:MAX_NAME_LENGTH]}: overview",
        "content": compose_content(project, created_entities),
    }
    fields = {"type_key": TYPE_KEY} | dict(sent or default_fields)
    row, errors, warnings = new_entities.build_entity(
        fields, DOCUMENT, project=project, by=by, at=at, pointer="/context_document", dates=created_entities.dates
    )
    return ProjectBrief(
        cast("Document", row), edges.build_edge(PROJECT_HAS_DOCUMENT, project, row, by=by, at=at), errors, warnings
    )


def compose_content(project: Project, created_entities: NewEntities) -> str:
    """Return the project's texts and a list of its first rows as Markdown."""
    texts = [project.executive_summary, project.description, project.context]
    zone = created_entities.dates.zone
    texts += [_format_section(heading, created_entities.get_rows(kind), kind, zone) for heading, kind in SECTIONS]
    return ("\n\n".join(text.strip() for text in texts if text.strip()) or EMPTY_CONTENT)[
        : MAX_CONTENT_LENGTH - 1
    ] + "\n"


def _format_section(heading: str, rows: Iterable[Any], kind: EntityType, zone: ZoneInfo) -> str:
    lines = [f"- {_format_row(row, kind, zone)}" for row in rows]
    return "\n".join([f"## {heading}", "", *lines]) if lines else ""


def _format_row(row: Any, kind: EntityType, zone: ZoneInfo) -> str:
    names = (name for name in ("target_date", "due_at", "end_date") if name in kind.fields)
    when = next((value for name in names if (value := getattr(row, name))), None)
    day = when.astimezone(zone) if isinstance(when, datetime) else when
    deadline = f" (by {day:%Y-%m-%d})" if day else ""
    return " ".join(getattr(row, kind.label).split()) + deadline
