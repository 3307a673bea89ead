"""The first document of a new project: a summary of what is known about it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from workspace.errors import FieldError
from workspace.handlers import entities
from workspace.handlers.entities import Entities
from workspace.kinds import DOCUMENT, GOAL, MILESTONE, PLAN, REQUIREMENT, RISK, TASK, Kind
from workspace.models import Document, Edge, EdgeKind, Project
from workspace.models.document import LONGEST_CONTENT
from workspace.relations import Rel, Relation
from workspace.services import edges

TYPE = "document.context.project"
LONGEST_NAME = 280  # characters of the project's name in the document's title

# The sections of the summary: heading and kind of the rows listed.
LISTED = (
    ("Goals", GOAL),
    ("Milestones", MILESTONE),
    ("Plans", PLAN),
    ("Tasks", TASK),
    ("Requirements", REQUIREMENT),
    ("Risks", RISK),
)
NOTHING_YET = "Nothing more is known about this project yet."

JOINED = Relation(EdgeKind.PROJECT, Rel.HAS_DOCUMENT, EdgeKind.DOCUMENT)


@dataclass(frozen=True, slots=True)
class Overview:
    """The unsaved document and the edge from the project to it, with errors and warnings about repairs."""

    document: Document
    edge: Edge
    errors: list[FieldError]
    warnings: list[str]


def build(sent: Mapping[str, Any] | None, first: Entities, *, project: Project, by: str, at: datetime) -> Overview:
    """Build the document that was sent, or one from the project's texts and first rows."""
    composed = {"title": f"{project.name[:LONGEST_NAME]}: overview", "content": compose(project, first)}
    fields = {"type_key": TYPE} | dict(sent or composed)
    row, errors, warnings = entities.build_one(
        fields, DOCUMENT, project=project, by=by, at=at, pointer="/context_document"
    )
    return Overview(cast("Document", row), edges.build(JOINED, project, row, by=by, at=at), errors, warnings)


def compose(project: Project, first: Entities) -> str:
    """Return the project's texts and a list of its first rows as Markdown."""
    texts = [project.executive_summary, project.description, project.context]
    texts += [_list(heading, first.of(kind), kind) for heading, kind in LISTED]
    return ("\n\n".join(text.strip() for text in texts if text.strip()) or NOTHING_YET)[: LONGEST_CONTENT - 1] + "\n"


def _list(heading: str, rows: Iterable[Any], kind: Kind) -> str:
    lines = [f"- {_line(row, kind)}" for row in rows]
    return "\n".join([f"## {heading}", "", *lines]) if lines else ""


def _line(row: Any, kind: Kind) -> str:
    ends = [name for name in ("target_date", "due_at", "end_date") if name in kind.fields and getattr(row, name)]
    by = f" (by {getattr(row, ends[0]):%Y-%m-%d})" if ends else ""
    return " ".join(getattr(row, kind.label).split()) + by
