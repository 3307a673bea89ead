"""Look up rows of a project by title, for callers that do not know the id."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet

from core.handler_contract import ArgumentError
from workspace.entity_types import ENTITY_TYPE_BY_NAME, PROJECT, EntityType
from workspace.services.search import row_finder, search
from workspace.services.search.search import fold_case
from workspace.services.time import times

MAX_CANDIDATES = 10  # rows with the same title that an error lists
MAX_SIMILAR_LOOKUPS = 3  # of titles that no row has, in one call


@dataclass(frozen=True, slots=True)
class TitledRow:
    """A row that a call names by its title.

    `argument` is the path of the title in the args, `id_argument` the path of the id that could be sent instead.
    """

    kind: str
    title: str
    argument: str
    id_argument: str


def find_ids(lookups: Sequence[TitledRow], *, subject: str, project_id: UUID) -> list[UUID | ArgumentError]:
    """Return for each title the row's id, or an error if no row or several rows of the project have this title.

    Ignores case and surrounding space, but prefers exact matches. Considers only rows that the subject can see. Takes
    one query per kind, and one for each title that no row has, up to three: their errors list rows with similar ones.
    """
    results: list[UUID | ArgumentError] = []
    similar_left = MAX_SIMILAR_LOOKUPS
    rows = {
        name: _query_candidates(lookups, ENTITY_TYPE_BY_NAME[name], subject, project_id)
        for name in {lookup.kind for lookup in lookups}
    }
    for lookup in lookups:
        matches = [row for row in rows[lookup.kind] if _is_same_title(row["called"], lookup.title)]
        exact_matches = [row for row in matches if row["called"].strip() == lookup.title.strip()]
        similar: list[dict[str, Any]] = []
        if not matches and similar_left:
            similar_left -= 1
            similar = _list_similar(lookup, subject, project_id)
        results.append(_pick_one(lookup, exact_matches or matches, similar))
    return results


def _query_candidates(
    lookups: Sequence[TitledRow], kind: EntityType, subject: str, project_id: UUID
) -> list[dict[str, Any]]:
    """Return the rows of a type whose label contains one of the titles, newest update first."""
    titles = [title for lookup in lookups if lookup.kind == kind.name and (title := lookup.title.strip())]
    if not titles:
        return []
    return list(_query_rows(kind, titles, subject, project_id).values("pk", "updated_at", called=F(kind.label)))


def _query_rows(kind: EntityType, texts: list[str], subject: str, project_id: UUID) -> QuerySet[Any]:
    rows = kind.get_rows().visible_to(subject).filter(**{"pk" if kind is PROJECT else "project_id": project_id})
    return rows.filter(search.match_any_word(texts, columns=(kind.label,))).order_by("-updated_at", "-pk")


def _list_similar(lookup: TitledRow, subject: str, project_id: UUID) -> list[dict[str, Any]]:
    """Return the id and the title of the rows of the project with the words of a title, or with a similar one."""
    kind, words = ENTITY_TYPE_BY_NAME[lookup.kind], row_finder.split_title(lookup.title)
    if not words:
        return []
    rows = _query_rows(kind, words, subject, project_id).values_list("pk", kind.label)
    titles = dict(rows[: row_finder.MAX_CANDIDATES])
    chosen, _ = row_finder.choose_similar(lookup.title, titles)
    return [{"id": str(id), kind.label: titles[id]} for id in chosen]


def _is_same_title(title: str, other: str) -> bool:
    return fold_case(title.strip()) == fold_case(other.strip())


def _pick_one(
    lookup: TitledRow, candidates: list[dict[str, Any]], similar: list[dict[str, Any]]
) -> UUID | ArgumentError:
    kind = ENTITY_TYPE_BY_NAME[lookup.kind]
    if not candidates:
        source = "if it is one of these," if similar else f"find it with {kind.get_op_path('search')} and"
        message = (
            f"{lookup.argument}: no {kind.name} in this project has this {kind.label}; {source} send its id as "
            f"{lookup.id_argument}."
        )
        return ArgumentError(
            path=f"/{lookup.argument}", code="no_such_title", message=message, expected=similar or None
        )
    if len(candidates) == 1:
        id: UUID = candidates[0]["pk"]
        return id
    choices = [
        {"id": str(row["pk"]), kind.label: row["called"], "updated_at": times.format_time(row["updated_at"])}
        for row in candidates[:MAX_CANDIDATES]
    ]
    more = f" and {len(candidates) - MAX_CANDIDATES} more" if len(candidates) > MAX_CANDIDATES else ""
    message = (
        f"{lookup.argument} matches {len(candidates)} {kind.plural}; send the id of the right one as "
        f"{lookup.id_argument}: {', '.join(each['id'] for each in choices)}{more}."
    )
    return ArgumentError(path=f"/{lookup.argument}", code="ambiguous_title", message=message, expected=choices)
