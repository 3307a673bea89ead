"""Look up rows of a project by title, for callers that do not know the id."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import F

from workspace.errors import FieldError
from workspace.kinds import KINDS, PROJECT, Kind
from workspace.services import search, times
from workspace.services.matching import folded

MOST = 10  # candidates that an error lists


@dataclass(frozen=True, slots=True)
class Titled:
    """A row that a call names by its title.

    `argument` is the path of the title in the args, `id_argument` the path of the id that could be sent instead.
    """

    kind: str
    title: str
    argument: str
    id_argument: str


def ids(named: Sequence[Titled], *, subject: str, project_id: UUID) -> list[UUID | FieldError]:
    """Return for each title the row's id, or an error if no row or several rows of the project have this title.

    Ignores case and surrounding space, but prefers exact matches. Considers only rows that the subject can see. Takes
    one query per kind.
    """
    found: list[UUID | FieldError] = []
    rows = {name: _holding(named, KINDS[name], subject, project_id) for name in {each.kind for each in named}}
    for each in named:
        alike = [row for row in rows[each.kind] if _alike(row["called"], each.title)]
        exact = [row for row in alike if row["called"].strip() == each.title.strip()]
        found.append(_one(each, exact or alike))
    return found


def _holding(named: Sequence[Titled], kind: Kind, subject: str, project_id: UUID) -> list[dict[str, Any]]:
    """Return the rows of a type whose label contains one of the titles, newest update first."""
    sought = [title for each in named if each.kind == kind.name and (title := each.title.strip())]
    if not sought:
        return []
    seen = kind.rows().visible_to(subject).filter(**{"pk" if kind is PROJECT else "project_id": project_id})
    rows = seen.filter(search.any_of(sought, columns=(kind.label,))).order_by("-updated_at", "-pk")
    return list(rows.values("pk", "updated_at", called=F(kind.label)))


def _alike(title: str, other: str) -> bool:
    return folded(title.strip()) == folded(other.strip())


def _one(named: Titled, candidates: list[dict[str, Any]]) -> UUID | FieldError:
    kind = KINDS[named.kind]
    if not candidates:
        message = (
            f"{named.argument}: no {kind.name} in this project has this {kind.label}; find it with "
            f"{kind.path('search')} and send its id as {named.id_argument}."
        )
        return FieldError(path=f"/{named.argument}", code="no_such_title", message=message)
    if len(candidates) == 1:
        id: UUID = candidates[0]["pk"]
        return id
    shown = [
        {"id": str(row["pk"]), kind.label: row["called"], "updated_at": times.write(row["updated_at"])}
        for row in candidates[:MOST]
    ]
    more = f" and {len(candidates) - MOST} more" if len(candidates) > MOST else ""
    message = (
        f"{named.argument} matches {len(candidates)} {kind.plural}; send the id of the right one as "
        f"{named.id_argument}: {', '.join(each['id'] for each in shown)}{more}."
    )
    return FieldError(path=f"/{named.argument}", code="ambiguous_title", message=message, expected=shown)
