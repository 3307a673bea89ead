"""Search across all kinds."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from workspace.contract import OpOutcome, OpRequest
from workspace.entity_types import ENTITY_TYPE_BY_NAME, EntityType
from workspace.services.access import access
from workspace.services.entities import pagination, serialization
from workspace.services.search import ranking, search, snippets, trigram_search
from workspace.services.search.ranking import SearchHit

WITH_ALL_WORDS = "{shown} of {total} rows with every word, best first."
WITH_ANY_WORD = "No row has every word. {shown} of {total} rows with any of them, best first; see matched for which."
SIMILAR_TITLES = "No row has any of the words. {shown} of {total} rows with similar titles, closest first."
SEARCH_LIMITED = "Searched only the {most:,} most recently updated {plural}; {path} finds older ones."
NO_MATCHES = "No row has any of the words or a similar title. Try other words, or list the rows."


def search_all_kinds(request: OpRequest) -> OpOutcome:
    """Return the best rows of the requested kinds: with all words, else with any, else with a similar title.

    Raises NotFound for its project_id, InvalidArgs.
    """
    words, warnings = _parse_words(request.args["query"])
    types = request.args.get("types") or list(ENTITY_TYPE_BY_NAME)
    kinds = [kind for name, kind in ENTITY_TYPE_BY_NAME.items() if name in types]
    hits, total, template, cut_warnings = _search_in_stages(request, kinds, words)
    project_id = request.args.get("project_id")
    if project_id is not None and not total:  # a match already proves that the project is visible
        access.require_project(subject=request.subject, id=project_id)
    message = template.format(shown=len(hits), total=total) + _suggest_ops(hits)
    texts = snippets.build_snippets(hits)
    rows, shared = serialization.take_out_project([_serialize_hit(hit, texts) for hit in hits])
    result = {
        **shared,
        "results": rows,
        "total": total,
        "has_more": total > len(hits),
        "message": message,
    }
    return OpOutcome(result=result, warnings=(*warnings, *cut_warnings))


def _parse_words(query: str) -> tuple[list[str], tuple[str, ...]]:
    words = search.split_required_words(query)
    if len(words) <= ranking.MAX_WORDS:
        return words, ()
    words = search.leave_out_stop_words(words)
    too_many = len(words) > ranking.MAX_WORDS
    warning = f"Searched for only the first {ranking.MAX_WORDS} words of query."
    return words[: ranking.MAX_WORDS], ((warning,) if too_many else ())


def _search_in_stages(
    request: OpRequest, kinds: Sequence[EntityType], words: list[str]
) -> tuple[list[SearchHit], int, str, tuple[str, ...]]:
    limit = min(request.args.get("limit", pagination.DEFAULT_LIMIT), pagination.MAX_LIMIT)
    project_id, subject = request.args.get("project_id"), request.subject
    candidates = ranking.scan_rows(kinds, subject=subject, project_id=project_id, words=words)
    cut_warnings = tuple(
        SEARCH_LIMITED.format(most=ranking.MAX_ROWS, plural=kind.plural, path=kind.get_op_path("search"))
        for kind in candidates.cut_kinds
    )
    telling = search.leave_out_stop_words(words)
    for wanted, all_words, template in (
        (words, True, WITH_ALL_WORDS),
        (telling, True, WITH_ALL_WORDS),
        (telling, False, WITH_ANY_WORD),
    ):
        hits, total = ranking.rank_matches(
            candidates.matches, words=words, wanted=wanted, all_words=all_words, limit=limit
        )
        if hits:
            return hits, total, template, cut_warnings
    hits, total = trigram_search.find_similar_titles(
        kinds, subject=subject, project_id=project_id, words=words, limit=limit
    )
    return hits, total, SIMILAR_TITLES if hits else NO_MATCHES, cut_warnings


def _suggest_ops(hits: Sequence[SearchHit]) -> str:
    kinds = dict.fromkeys(hit.kind for hit in hits)
    ops = ", ".join(ENTITY_TYPE_BY_NAME[kind].get_op_path("get") for kind in kinds)
    return f" Complete rows: {ops}." if ops else ""


def _serialize_hit(hit: SearchHit, texts: dict[UUID, str]) -> dict[str, Any]:
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
