"""Which ops come first if several services have ops for a request."""

from registry import search
from registry.catalog.model import FULL_VISIBILITY, Catalog
from tests.support.loops import for_each
from tests.support.rows.op_entries import build_catalog, build_op_entry

OWN = build_op_entry("own.ticket.list", tool_name="list_tickets", summary="List tickets, also those of Monday")
DESK = build_op_entry(
    "desk.ticket.list", tool_name="desk_list_tickets", summary="List tickets", connection="acme-desk-app"
)
WEEK = build_op_entry("week.ticket.list", tool_name="week_list_tickets", summary="List tickets", connection="monday")


def find_first(catalog: Catalog, request: str) -> str:
    return search.find_ops(catalog, catalog.view_for(FULL_VISIBILITY), request, limit=1)[0]


@for_each(
    "request_, first",
    [
        ("list tickets", "own.ticket.list"),
        ("list tickets in acme desk app", "desk.ticket.list"),
        ("list tickets in Acme", "desk.ticket.list"),  # by a word of its name that no other op has
        ("list tickets on the acme desk", "desk.ticket.list"),
        ("list tickets in the app", "own.ticket.list"),  # a word of many names of services
    ],
)
def test_a_request_names_a_service_by_its_name_or_a_word_that_only_it_has(request_: str, first: str) -> None:
    assert find_first(build_catalog(OWN, DESK), request_) == first


def test_a_word_that_other_ops_have_does_not_make_a_service_the_place_of_a_request() -> None:
    ours = build_op_entry(
        "own.call.create", tool_name="create_call", kind="write", summary="Plan a call, say on Monday"
    )

    assert find_first(build_catalog(OWN, ours, WEEK), "plan a call on Monday") == "own.call.create"
