"""The list, search and get ops of every kind."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from core.handler_contract import ArgumentError, OpOutcome, OpRequest, build_invalid_args
from workspace.entity_types import ENTITY_TYPE_BY_NAME, EntityType
from workspace.handlers.generic.row_outcomes import build_excerpt_outcome, build_row_outcome
from workspace.models import EntityQuerySet
from workspace.models.base import filter_by_type
from workspace.services import access
from workspace.services.documents import outline
from workspace.services.edges import linked_rows
from workspace.services.entities import pagination, serialization
from workspace.services.search import search
from workspace.services.time import times

MAX_LINKS = 20  # that a get includes
UPPER = "_before"  # how arguments for the end of a range end

# Arguments that filter a list by one value or several, with the lookup for one value.
FILTER_LOOKUPS = {
    "project_id": "exact",
    "state_key": "exact",
    "impact": "exact",
    "priority": "exact",
    "category": "iexact",
}


def list_rows(request: OpRequest, *, kind: EntityType) -> OpOutcome:
    """Return a page of the rows that the subject can see. Raises NotFound for project_id, InvalidArgs."""
    listing = pagination.Listing.from_args(kind, request.args)
    after = pagination.decode_cursor(request.args.get("cursor"), listing=listing)
    page = _read_page(filter_rows(request, kind), request, listing=listing, after=after)
    return _build_list_outcome(page, request, kind=kind, what=f"{kind.plural}, {listing.order.description}")


def search_rows(request: OpRequest, *, kind: EntityType) -> OpOutcome:
    """Return a page of the rows with every word of the query, or else with any of them. The message says which.

    Raises NotFound for project_id, InvalidArgs.
    """
    words = search.leave_out_stop_words(search.split_required_words(request.args["query"]))
    queryset = filter_rows(request, kind)
    listing = pagination.Listing.from_args(kind, request.args)
    after = pagination.decode_cursor(request.args.get("cursor"), listing=listing)
    if not (after and after.relaxed):
        matches = queryset.filter(search.match_all_words(words, columns=kind.search_columns))
        page = _read_page(matches, request, listing=listing, after=after)
        if page.total or len(words) == 1:
            return _build_list_outcome(
                page, request, kind=kind, what=f"matching {kind.plural}, {listing.order.description}"
            )
    queryset = queryset.filter(search.match_any_word(words, columns=kind.search_columns))
    page = _read_page(queryset, request, listing=listing, after=after, relaxed=True)
    return _build_list_outcome(
        page, request, kind=kind, what=f"{kind.plural} with any of the words, because none has all of them"
    )


def get_row(request: OpRequest, *, kind: EntityType) -> OpOutcome:
    """Return the complete row, if requested with its links, or with `field` one of its long texts.

    Raises NotFound, InvalidArgs.
    """
    row = access.get_visible_row(kind, subject=request.subject, id=request.args[kind.id_argument])
    if request.args.get("field") is not None:
        return _get_field_part(row, request, kind=kind)
    if "offset" in request.args:
        message = "offset continues one text; send field with it, or leave it out."
        raise build_invalid_args([ArgumentError(path="/offset", code="no_field", message=message)])
    message = f"The complete {kind.name}."
    outcome = build_row_outcome(row, kind=kind, at=request.at, message=message, max_chars=get_max_chars(request))
    return _add_links(outcome, row, request, kind=kind) if request.args.get("include_links") else outcome


def _add_links(outcome: OpOutcome, row: Any, request: OpRequest, *, kind: EntityType) -> OpOutcome:
    links, has_more = linked_rows.list_linked_summaries(row.pk, subject=request.subject, limit=MAX_LINKS)
    message = outcome.result["message"]
    if has_more:
        message += build_more_note(MAX_LINKS, "links", path="onto.entity.links.get")
    result = outcome.result | {kind.name: outcome.result[kind.name] | {"links": links}, "message": message}
    return replace(outcome, result=result)


def get_max_chars(request: OpRequest) -> int:
    """Return the maximum number of characters of long text that a get returns."""
    return int(request.args.get("max_chars", outline.DEFAULT_CHARS))


def build_more_note(number: int, plural: str, *, path: str) -> str:
    """Return a sentence saying that only the first rows are included, and which op returns the others."""
    return f" Only the first {number} {plural} are included; {path} returns the others."


def _get_field_part(row: Any, request: OpRequest, *, kind: EntityType) -> OpOutcome:
    name, offset = request.args["field"], request.args.get("offset", 0)
    columns = serialization.serialize_columns(row, kind=kind)
    excerpt = outline.read_field(columns, name, kind=kind, offset=offset, max_chars=get_max_chars(request))
    end = offset + len(excerpt.row[name])
    message = (
        f"{name} of the {kind.name}, characters {offset} to {end}{'' if excerpt.truncated_fields else ', the end'}."
    )
    return build_excerpt_outcome(row, excerpt, kind=kind, message=message)


def filter_rows(request: OpRequest, kind: EntityType) -> EntityQuerySet[Any]:
    """Return the rows that the subject can see, by the filters that were sent. Raises InvalidArgs, NotFound."""
    queryset = kind.get_rows().visible_to(request.subject)
    for name, comparison in FILTER_LOOKUPS.items():
        value = request.args.get(name)
        if value not in (None, []):
            queryset = queryset.filter(**{f"{name}__in" if isinstance(value, list) else f"{name}__{comparison}": value})
    if type_key := request.args.get("type_key"):
        queryset = queryset.filter(filter_by_type(type_key))
    for name, condition in kind.filters.items():
        if (is_wanted := request.args.get(name)) is not None:
            queryset = queryset.filter(condition if is_wanted else ~condition)
    for name, linked_kind in kind.link_filters.items():
        if id := request.args.get(name):
            linked = access.get_visible_row(ENTITY_TYPE_BY_NAME[linked_kind], subject=request.subject, id=id)
            queryset = linked_rows.filter_linked(queryset, linked.pk, parent_column=kind.parent_column)
    for name, build_condition in kind.timed_filters.items():
        if (is_wanted := request.args.get(name)) is not None:
            condition = build_condition(request.at)
            queryset = queryset.filter(condition if is_wanted else ~condition)
    bounds = _parse_bounds(request, kind)
    return queryset.filter(**{kind.range_filters[name]: moment for name, moment in bounds.items()})


def _parse_bounds(request: OpRequest, kind: EntityType) -> dict[str, datetime]:
    """Return the times sent for range filters. A range of dates has both of these days in the user's zone.

    Raises InvalidArgs.
    """
    names = [name for name in kind.range_filters if request.args.get(name) is not None]
    if not names:
        return {}
    clock = times.from_request(request)
    parsed = {name: clock.parse(request.args, name) for name in names}
    clock.raise_errors()
    return {
        name: times.to_range_end(when, clock.zone) if name.endswith(UPPER) else times.to_range_start(when, clock.zone)
        for name, when in parsed.items()
        if when is not None
    }


def describe_bounds(request: OpRequest, kind: EntityType) -> str:
    """Return a sentence for each date that was sent as an upper bound, because the caller may mean to leave it out."""
    days = {name: request.args[name] for name in kind.range_filters if times.is_date(request.args.get(name))}
    return "".join(f" {name} includes all of {day}." for name, day in days.items() if name.endswith(UPPER))


def _read_page(
    queryset: EntityQuerySet[Any],
    request: OpRequest,
    *,
    listing: pagination.Listing,
    after: pagination.RowPosition | None,
    relaxed: bool = False,
) -> pagination.RowPage:
    limit = request.args.get("limit", pagination.DEFAULT_LIMIT)
    return pagination.read_page(queryset, listing=listing, limit=limit, after=after, at=request.at, relaxed=relaxed)


def _build_list_outcome(page: pagination.RowPage, request: OpRequest, *, kind: EntityType, what: str) -> OpOutcome:
    project_id = request.args.get("project_id")
    if project_id is not None and not page.total:  # a match already proves that the project is visible
        access.require_project(subject=request.subject, id=project_id)
    is_chosen = bool(request.args.get(serialization.ARGUMENT))  # then each row has exactly these fields
    rows, shared = (page.rows, {}) if is_chosen else serialization.take_out_project(page.rows)
    summary = f"{len(page.rows)} of {page.total} {what}."
    if any(name.endswith("_preview") for row in rows for name in row):
        summary += f" {kind.get_op_path('get')} returns the complete row."
    result = {
        **shared,
        kind.plural: rows,
        "total": page.total,
        "has_more": page.next_cursor is not None,
        "message": (summary if page.total else f"No {kind.plural} match.") + describe_bounds(request, kind),
    }
    return OpOutcome(result=result | ({"next_cursor": page.next_cursor} if page.next_cursor else {}))
