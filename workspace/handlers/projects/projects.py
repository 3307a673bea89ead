"""Read and change projects, brief a model about one, and read the user's profile."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.db.models import Q
from django.utils.text import slugify

from core.handler_contract import ArgumentError, OpOutcome, OpRequest, build_invalid_args
from workspace.entity_types import DOCUMENT, GOAL, MILESTONE, PLAN, PROJECT, REQUIREMENT, RISK, TASK, EntityType
from workspace.handlers.generic import generic_reads, generic_writes
from workspace.handlers.generic.row_outcomes import build_create_outcome
from workspace.handlers.projects import new_entities, new_relationships
from workspace.handlers.projects.new_entities import NewEntities
from workspace.models import Document, Edge, EdgeKind, MemberRole, Membership, Project, working_week
from workspace.models.document import BRAIN_DUMPS, MAX_CONTENT_LENGTH, NOTES
from workspace.relations import Rel, Relation
from workspace.services import access
from workspace.services.calendar import task_events
from workspace.services.edges import edges, linked_rows
from workspace.services.entities import changes, pagination, serialization
from workspace.services.entities.serialization import quote_name
from workspace.services.time import times
from workspace.services.time.partial_dates import PartialDates

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
MAX_SLUG_LENGTH = 80

# Rows that onto.project.get can include, by argument: (key in the result, kind, order, filter, maximum number).
INCLUDABLE_ROWS: dict[str, tuple[str, EntityType, str, Q, int]] = {
    "include_phases": ("phases", PLAN, "start_date", Q(), 50),
    "include_tasks": ("tasks", TASK, "priority", Q(), 20),
    "include_notes": ("notes", DOCUMENT, "updated", NOTES, 10),
    "include_brain_dumps": ("brain_dumps", DOCUMENT, "updated", BRAIN_DUMPS, 5),
}


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


def list_projects(request: OpRequest) -> OpOutcome:
    """Return a page of the projects that the subject can see, each with its role in them. Raises InvalidArgs."""
    return _add_roles(generic_reads.list_rows(request, kind=PROJECT), request)


def search_projects(request: OpRequest) -> OpOutcome:
    """Return a page of the projects with the words of the query, or of all without one. Raises InvalidArgs."""
    if "query" not in request.args:
        return list_projects(request)
    return _add_roles(generic_reads.search_rows(request, kind=PROJECT), request)


def _add_roles(outcome: OpOutcome, request: OpRequest) -> OpOutcome:
    """Add the subject's role to each project, unless the `fields` that were sent leave it out."""
    fields = request.args.get(serialization.ARGUMENT) or [serialization.ALL]
    if {"role", serialization.ALL}.isdisjoint(fields):
        return outcome
    rows = outcome.result["projects"]
    memberships = Membership.objects.filter(
        subject=request.subject, project__in=[row["id"] for row in rows], deleted_at=None
    )
    roles = {str(id): role for id, role in memberships.values_list("project", "role")} if rows else {}
    projects = [row | {"role": roles[row["id"]]} for row in rows if row["id"] in roles]
    return replace(outcome, result=outcome.result | {"projects": projects})


def get_project(request: OpRequest) -> OpOutcome:
    """Return the complete project, with abbreviated rows of the requested parts. Raises NotFound."""
    outcome = generic_reads.get_row(request, kind=PROJECT)
    if request.args.get("field") is not None:
        return outcome
    project: dict[str, Any] = dict(outcome.result["project"])
    message = outcome.result["message"]
    for argument, (name, kind, order, condition, max_rows) in INCLUDABLE_ROWS.items():
        if request.args.get(argument):
            inside = kind.get_rows().visible_to(request.subject).filter(condition, project=project["id"])
            listing = pagination.Listing.from_args(kind, {"sort_by": order})
            project[name], has_more = pagination.serialize_first(inside, listing=listing, limit=max_rows, at=request.at)
            if has_more:
                message += generic_reads.build_more_note(
                    max_rows, name.replace("_", " "), path=kind.get_op_path("list")
                )
    return replace(outcome, result={"project": project, "message": message})


def create_project(request: OpRequest) -> OpOutcome:
    """Create a project with its owner, its first rows and their edges, all or none.

    If the caller sent clarifications, create nothing and return the questions. Raises InvalidArgs with all errors.
    """
    if questions := request.args.get("clarifications"):
        return _build_clarification_outcome(questions)
    by, at = request.subject, request.at
    dates = PartialDates(access.get_zone(by))
    project, errors = _build_project(request, dates)
    created_entities = new_entities.build_entities(
        request.args.get("entities", []), project=project, by=by, at=at, dates=dates
    )
    links = new_relationships.parse_relationships(request.args.get("relationships", []), created_entities.rows)
    brief = build_brief(request.args.get("context_document"), created_entities, project=project, by=by, at=at)
    if errors := errors + created_entities.errors + links.errors + brief.errors:
        raise build_invalid_args(errors)
    edges = [*new_relationships.build_edges(links, created_entities.rows, by=by, at=at), brief.edge]
    project.save(force_insert=True)
    Membership.objects.create(project=project, subject=by, role=MemberRole.OWNER, created_at=at)
    created_entities.save()
    task_events.create_events(created_entities.get_rows(TASK), by=by, at=at)
    brief.document.save(force_insert=True)
    Edge.objects.bulk_create(edges)
    sent = {kind: len(created_entities.get_rows(kind)) for kind in new_entities.ENTITY_KINDS.values()}
    counts = {kind.plural: number + (kind is DOCUMENT) for kind, number in sent.items()}
    outcome = _build_create_outcome(
        request,
        project,
        counts | {"edges": len(edges)},
        {kind.plural: created_entities.list_names(kind) for kind, number in sent.items() if number}
        | {"context_document": serialization.name_row(brief.document, kind=DOCUMENT)},
        _format_counts(sent),
    )
    return replace(outcome, warnings=(*dates.warnings, *created_entities.warnings, *brief.warnings, *links.warnings))


def delete_project(request: OpRequest) -> OpOutcome:
    """Mark the project as deleted, which hides everything in it from all ops. Raises NotFound, Forbidden."""
    project = access.lock_deletable_project(subject=request.subject, id=request.args["project_id"])
    message = (
        f"Deleted the project {quote_name(project.name)}; ops no longer find it or anything in it, for any member."
        f"{linked_rows.describe_contents(project)} Only an administrator can restore it."
    )
    return generic_writes.mark_deleted(project, kind=PROJECT, at=request.at, message=message)


def _build_clarification_outcome(questions: list[dict[str, Any]]) -> OpOutcome:
    question_phrase = "the question" if len(questions) == 1 else f"the {len(questions)} questions"
    message = (
        f"Nothing was created. Ask the user {question_phrase} in clarifications, "
        "then repeat the whole call with the answers and without clarifications."
    )
    result: dict[str, Any] = {"project_id": None, "counts": {}, "clarifications": questions, "message": message}
    return OpOutcome(result=result, changed_ids=(), action="clarify")


def _build_project(request: OpRequest, dates: PartialDates) -> tuple[Project, list[ArgumentError]]:
    project = Project(created_by=request.subject, created_at=request.at, updated_at=request.at)
    sent, date_errors = dates.complete_times(request.args["project"], kind=PROJECT, pointer="/project")
    slug = slugify(sent["name"].replace("_", " "))[:MAX_SLUG_LENGTH].strip("-")
    return project, date_errors + changes.assign_fields(
        project, kind=PROJECT, sent={"slug": slug} | sent, at=request.at, pointer="/project"
    )


def _build_create_outcome(
    request: OpRequest, project: Project, counts: dict[str, int], created: dict[str, Any], sent_rows: str
) -> OpOutcome:
    """Return the outcome. Its message names the rows that were sent, and the overview, but not the edges."""
    id = str(project.pk)
    row = access.get_visible_row(PROJECT, subject=request.subject, id=id)  # read again for the counts of its rows
    outcome = build_create_outcome(
        row,
        kind=PROJECT,
        request=replace(request, args=request.args["project"] | {"fields": request.args.get("fields")}),
        message=(
            f"Created the project {quote_name(project.name)}{sent_rows} and an overview document; you are its owner."
        ),
    )
    more = {
        "project_id": id,
        "counts": {plural: number for plural, number in counts.items() if number},
        "created": created,
        "context_shift": {
            "new_context": "project",
            "entity_id": id,
            "entity_name": project.name,
            "entity_type": "project",
        },
    }
    return replace(outcome, result=outcome.result | more)


def _format_counts(counts: dict[EntityType, int]) -> str:
    """Return the counts in words, such as " with 2 tasks and 1 document"; an empty text if there are none."""
    parts = [f"{number} {kind.name if number == 1 else kind.plural}" for kind, number in counts.items() if number]
    return f" with {' and '.join(filter(None, [', '.join(parts[:-1]), parts[-1]]))}" if parts else ""


def get_profile(request: OpRequest) -> OpOutcome:
    """Return the calling user's profile, or one `part` of it; always with time zone and local time."""
    profile = access.get_profile(request.subject)
    now = request.at.replace(microsecond=0)
    local_fields = {
        "time_zone": profile.time_zone,
        "local_time": times.format_time(now, zone=profile.zone),
        "weekday": working_week.WEEKDAYS[now.astimezone(profile.zone).weekday()],
    }
    parts = {
        "name": profile.name or None,
        "working_hours": {day: profile.working_hours.get(day, []) for day in working_week.WEEKDAYS},
        "preferences": profile.preferences,
    }
    part = request.args.get("part")
    shown_parts = {name: value for name, value in parts.items() if part in (None, name)}
    intro = "The user has no profile yet; these are defaults." if profile._state.adding else "The user's profile."
    message = f"{intro} Calendar times without an offset are read in {profile.time_zone}."
    return OpOutcome(result={"profile": shown_parts | local_fields, "message": message})
