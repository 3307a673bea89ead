"""The list, search and get ops of every kind."""

from datetime import datetime
from typing import Any

from workspace.contract import Outcome, Request
from workspace.errors import FieldError, invalid
from workspace.kinds import Kind
from workspace.models import EntityQuerySet
from workspace.services import access, excerpts, pages, rows, search

# Arguments that filter a list by one value or several, with the lookup for one value.
FILTERS = {
    "project_id": "exact",
    "state_key": "exact",
    "type_key": "exact",
    "impact": "exact",
    "priority": "exact",
    "category": "iexact",
}


def list_rows(request: Request, *, kind: Kind) -> Outcome:
    """Return a page of the rows that the subject can see. Raises NotFound for project_id, Invalid."""
    listing = pages.Listing.of(kind, request.args)
    after = pages.decode(request.args.get("cursor"), listing=listing)
    page = _page(_narrowed(request, kind), request, listing=listing, after=after)
    return _listed(page, request, kind=kind, what=f"{kind.plural}, {listing.order.told}")


def search_rows(request: Request, *, kind: Kind) -> Outcome:
    """Return a page of the rows with every word of the query, or else with any of them. The message says which.

    Raises NotFound for project_id, Invalid.
    """
    sought, found = search.required_words(request.args["query"]), _narrowed(request, kind)
    listing = pages.Listing.of(kind, request.args)
    after = pages.decode(request.args.get("cursor"), listing=listing)
    if not (after and after.relaxed):
        with_all = found.filter(search.all_of(sought, columns=kind.searched))
        page = _page(with_all, request, listing=listing, after=after)
        if page.total or len(sought) == 1:
            return _listed(page, request, kind=kind, what=f"matching {kind.plural}, {listing.order.told}")
    found = found.filter(search.any_of(sought, columns=kind.searched))
    page = _page(found, request, listing=listing, after=after, relaxed=True)
    return _listed(page, request, kind=kind, what=f"{kind.plural} with any of the words, because none has all of them")


def get_row(request: Request, *, kind: Kind) -> Outcome:
    """Return the complete row, or with `field` one of its long texts. Raises NotFound, Invalid."""
    row = access.visible_row(kind, subject=request.subject, id=request.args[kind.id_argument])
    if request.args.get("field") is not None:
        return _part(row, request, kind=kind)
    if "offset" in request.args:
        message = "offset continues one text; send field with it, or leave it out."
        raise invalid([FieldError(path="/offset", code="no_field", message=message)])
    message = f"The complete {kind.name}."
    return outcome(row, kind=kind, at=request.at, message=message, max_chars=max_chars(request))


def max_chars(request: Request) -> int:
    """Return the maximum number of characters of long text that a get returns."""
    return int(request.args.get("max_chars", excerpts.DEFAULT_CHARS))


def outcome(
    row: Any,
    *,
    kind: Kind,
    at: datetime,
    message: str,
    warnings: tuple[str, ...] = (),
    max_chars: int = excerpts.DEFAULT_CHARS,
) -> Outcome:
    """Build the outcome of get, create and update: the complete row under its kind's name, long texts cut."""
    shown = excerpts.of_row(rows.whole(row, kind=kind, at=at), kind=kind, max_chars=max_chars)
    return _about(row, shown, kind=kind, message=message + cut(shown, kind=kind), warnings=warnings)


def cut(shown: excerpts.Excerpt, *, kind: Kind, place: str = "") -> str:
    """Return a sentence naming the texts that were cut and the op that reads the rest; "" if none was cut."""
    if not shown.cut:
        return ""
    return f" Cut{place}: {', '.join(shown.cut)}; {kind.path('get')} with field and offset returns the rest."


def only_first(number: int, plural: str, *, path: str) -> str:
    """Return a sentence saying that only the first rows are included, and which op returns the others."""
    return f" Only the first {number} {plural} are included; {path} returns the others."


def _part(row: Any, request: Request, *, kind: Kind) -> Outcome:
    name, offset = request.args["field"], request.args.get("offset", 0)
    whole = rows.columns(row, kind=kind)
    shown = excerpts.of_field(whole, name, kind=kind, offset=offset, max_chars=max_chars(request))
    until = offset + len(shown.row[name])
    message = f"{name} of the {kind.name}, characters {offset} to {until}{'' if shown.cut else ', the end'}."
    return _about(row, shown, kind=kind, message=message)


def _about(row: Any, shown: excerpts.Excerpt, *, kind: Kind, message: str, warnings: tuple[str, ...] = ()) -> Outcome:
    result = {kind.name: shown.row, "message": message}
    return Outcome(result=result, warnings=warnings, entity_id=str(row.pk), entity_name=getattr(row, kind.label))


def _narrowed(request: Request, kind: Kind) -> EntityQuerySet[Any]:
    found = kind.rows().visible_to(request.subject)
    for name, comparison in FILTERS.items():
        value = request.args.get(name)
        if value not in (None, []):
            found = found.filter(**{f"{name}__in" if isinstance(value, list) else f"{name}__{comparison}": value})
    for name, condition in kind.filters.items():
        if (wanted := request.args.get(name)) is not None:
            found = found.filter(condition if wanted else ~condition)
    return found


def _page(
    found: EntityQuerySet[Any],
    request: Request,
    *,
    listing: pages.Listing,
    after: pages.Position | None,
    relaxed: bool = False,
) -> pages.Page:
    limit = request.args.get("limit", pages.DEFAULT_LIMIT)
    return pages.read(found, listing=listing, limit=limit, after=after, at=request.at, relaxed=relaxed)


def _listed(page: pages.Page, request: Request, *, kind: Kind, what: str) -> Outcome:
    project_id = request.args.get("project_id")
    if project_id is not None and not page.total:  # a match already proves that the project is visible
        access.require_project(subject=request.subject, id=project_id)
    result = {
        kind.plural: page.rows,
        "total": page.total,
        "has_more": page.next_cursor is not None,
        "message": f"{len(page.rows)} of {page.total} {what}. {kind.path('get')} returns the complete row.",
    }
    return Outcome(result=result | ({"next_cursor": page.next_cursor} if page.next_cursor else {}))
