"""list, search and get of any kind."""

from typing import Any

from workspace.contract import Outcome, Request
from workspace.kinds import Kind
from workspace.models import EntityQuerySet
from workspace.services import access, pages, rows, search

FILTERS = ("project_id", "state_key", "type_key")  # arguments that narrow a list to rows with exactly this value


def list_rows(request: Request, *, kind: Kind) -> Outcome:
    """Answer a page of what the subject sees, newest update first. Raises NotFound for its project_id, Invalid."""
    page = _page(_narrowed(request, kind), request, kind=kind, after=pages.decode(request.args.get("cursor")))
    return _listed(page, request, kind=kind, what=f"{kind.plural}, newest update first")


def search_rows(request: Request, *, kind: Kind) -> Outcome:
    """Answer a page of the rows that have every word of the query, or else of those with any, and say which.

    Raises NotFound for its project_id, Invalid.
    """
    sought, found = search.required_words(request.args["query"]), _narrowed(request, kind)
    after = pages.decode(request.args.get("cursor"))
    if not (after and after.relaxed):
        page = _page(found.filter(search.all_of(sought, columns=kind.searched)), request, kind=kind, after=after)
        if page.total or len(sought) == 1:
            return _listed(page, request, kind=kind, what=f"matching {kind.plural}, newest update first")
    found = found.filter(search.any_of(sought, columns=kind.searched))
    page = _page(found, request, kind=kind, after=after, relaxed=True)
    return _listed(page, request, kind=kind, what=f"{kind.plural} with any of the words, for none has all of them")


def get_row(request: Request, *, kind: Kind) -> Outcome:
    """Answer the complete row. Raises NotFound."""
    row = access.visible_row(kind, subject=request.subject, id=request.args[kind.id_argument])
    return outcome(row, kind=kind, message=f"The complete {kind.name}.")


def outcome(row: Any, *, kind: Kind, message: str, warnings: tuple[str, ...] = ()) -> Outcome:
    """Return what get, create and update answer: the complete row under its kind's name."""
    result = {kind.name: rows.whole(row, kind=kind), "message": message}
    return Outcome(result=result, warnings=warnings, entity_id=str(row.pk), entity_name=getattr(row, kind.label))


def _narrowed(request: Request, kind: Kind) -> EntityQuerySet[Any]:
    filters = {name: request.args[name] for name in FILTERS if request.args.get(name) is not None}
    return kind.rows().visible_to(request.subject).filter(**filters)


def _page(
    found: EntityQuerySet[Any], request: Request, *, kind: Kind, after: pages.Position | None, relaxed: bool = False
) -> pages.Page:
    limit = request.args.get("limit", pages.DEFAULT_LIMIT)
    return pages.read(found, kind=kind, limit=limit, after=after, relaxed=relaxed)


def _listed(page: pages.Page, request: Request, *, kind: Kind, what: str) -> Outcome:
    project_id = request.args.get("project_id")
    if project_id is not None and not page.total:  # a row that was found has shown that its project is visible
        access.require_project(subject=request.subject, id=project_id)
    result = {
        kind.plural: page.rows,
        "total": page.total,
        "has_more": page.next_cursor is not None,
        "message": f"{len(page.rows)} of {page.total} {what}. {kind.path('get')} has the complete row.",
    }
    return Outcome(result=result | ({"next_cursor": page.next_cursor} if page.next_cursor else {}))
