"""Search across all kinds."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from workspace.contract import Outcome, Request
from workspace.kinds import KINDS, Kind
from workspace.services import access, closeness, pages, ranking, search, snippets
from workspace.services.ranking import Hit

WITH_ALL = "{shown} of {total} rows with every word, best first."
WITH_ANY = "No row has every word. {shown} of {total} rows with any of them, best first; see matched for which."
LOOKS_LIKE = "No row has any of the words. {shown} of {total} rows with similar titles, closest first."
CUT = "Searched only the {most:,} most recently updated {plural}; {path} finds older ones."
NOTHING = "No row has any of the words or a similar title. Try other words, or list the rows."


def find(request: Request) -> Outcome:
    """Return the best rows of the requested kinds: with all words, else with any, else with a similar title.

    Raises NotFound for its project_id, Invalid.
    """
    words, warnings = _words(request.args["query"])
    asked = request.args.get("types") or list(KINDS)
    kinds = [kind for name, kind in KINDS.items() if name in asked]
    hits, total, told, cut = _found(request, kinds, words)
    project_id = request.args.get("project_id")
    if project_id is not None and not total:  # a match already proves that the project is visible
        access.require_project(subject=request.subject, id=project_id)
    message = told.format(shown=len(hits), total=total) + _next_step(hits)
    texts = snippets.of_hits(hits)
    result = {
        "results": [_row(hit, texts) for hit in hits],
        "total": total,
        "has_more": total > len(hits),
        "message": message,
    }
    return Outcome(result=result, warnings=(*warnings, *cut))


def _words(query: str) -> tuple[list[str], tuple[str, ...]]:
    words = search.required_words(query)
    if len(words) <= ranking.MOST_WORDS:
        return words, ()
    return words[: ranking.MOST_WORDS], (f"Searched for only the first {ranking.MOST_WORDS} words of query.",)


def _found(request: Request, kinds: Sequence[Kind], words: list[str]) -> tuple[list[Hit], int, str, tuple[str, ...]]:
    limit = min(request.args.get("limit", pages.DEFAULT_LIMIT), pages.LARGEST_LIMIT)
    project_id, subject = request.args.get("project_id"), request.subject
    seen = ranking.look(kinds, subject=subject, project_id=project_id, words=words)
    cut = tuple(CUT.format(most=ranking.MOST_ROWS, plural=kind.plural, path=kind.path("search")) for kind in seen.cut)
    for all_words, told in ((True, WITH_ALL), (False, WITH_ANY)):
        hits, total = ranking.best(seen.sightings, words=words, all_words=all_words, limit=limit)
        if hits:
            return hits, total, told, cut
    hits, total = closeness.find(kinds, subject=subject, project_id=project_id, words=words, limit=limit)
    return hits, total, LOOKS_LIKE if hits else NOTHING, cut


def _next_step(hits: Sequence[Hit]) -> str:
    kinds = dict.fromkeys(hit.kind for hit in hits)
    ops = ", ".join(KINDS[kind].path("get") for kind in kinds)
    return f" Complete rows: {ops}." if ops else ""


def _row(hit: Hit, texts: dict[UUID, str]) -> dict[str, Any]:
    row = {
        "type": hit.kind,
        "id": str(hit.id),
        "project_id": str(hit.project_id),
        "project_name": hit.project_name,
        "title": hit.title,
        "snippet": texts.get(hit.id),
        "matched": list(hit.matched),
        "score": round(hit.score, 2),
    }
    return {name: value for name, value in row.items() if value is not None}
