"""What is switched off, in memory: by op, group and connection, in one query, and gone from every list."""

import pytest
from pytest_django import DjangoAssertNumQueries

from registry import search
from registry.catalog import switches
from registry.catalog.model import Visibility
from registry.catalog.switches import ALL_ON, Switches
from registry.help import help_pages
from registry.help.help_pages import HelpQuery
from registry.models import Switch
from tests.support.op_entries import catalog, op
from tests.support.switches import switch

OPS = [
    op("onto.task.get", summary="Get one task", connection="workspace"),
    op("onto.task.add", summary="Add one task", kind="write", aliases=["onto.task.make"], connection="workspace"),
    op("onto.project.get", summary="Get one project", connection="workspace"),
    op("util.info", summary="Tell of fields", connection="utilities"),
    op("old.op", status="retired", successor="onto.task.get"),
]
OTHERS = {path["op"] for path in OPS} - {"old.op"}


@pytest.mark.parametrize(
    ("off", "hidden", "told"),
    [
        (Switches(ops={"onto.task.add": "Broken"}), {"onto.task.add"}, "onto.task.add is switched off: Broken."),
        # Renamed since: the name it had is its alias now.
        (Switches(ops={"onto.task.make": "Broken."}), {"onto.task.add"}, "onto.task.add is switched off: Broken."),
        (
            Switches(groups={"onto.task": "Down!"}),
            {"onto.task.add", "onto.task.get"},
            "onto.task.add is switched off with its group onto.task: Down!",
        ),
        (Switches(groups={"root": "All"}), OTHERS, "onto.task.add is switched off with its group root: All."),
        (
            Switches(connections={"workspace": "Moving"}),
            {"onto.task.add", "onto.task.get", "onto.project.get"},
            "onto.task.add is switched off with its connection workspace: Moving.",
        ),
        # Only whole names: onto.tas is no group of onto.task.add.
        (Switches(groups={"onto.tas": "x"}, ops={"onto": "x"}, connections={"work": "x"}), set(), None),
    ],
)
def test_what_is_off_is_in_no_list_and_says_why(off: Switches, hidden: set[str], told: str | None) -> None:
    found = catalog(*OPS)

    view = found.view_for(Visibility(switches=off))

    assert view.ops == OTHERS - hidden
    assert view.counts["root"] == len(OTHERS - hidden)
    assert view.off_reasons.get("onto.task.add") == told
    assert {path for path in view.off_reasons if path in found.ops} == hidden


def test_a_group_of_which_all_is_off_is_gone_and_says_why() -> None:
    found = catalog(*OPS)

    whole = found.view_for(Visibility(switches=Switches(groups={"onto.task": "Down"})))
    one_by_one = found.view_for(Visibility(switches=Switches(ops={"onto.task.add": "A", "onto.task.get": "B"})))

    for view in (whole, one_by_one):
        assert view.children["onto"] == ("onto.project",)
    assert whole.off_reasons["onto.task"] == "onto.task is switched off: Down."
    assert one_by_one.off_reasons["onto.task"] == "Every op of onto.task is switched off."
    assert "onto" not in one_by_one.off_reasons


def test_nobody_is_told_of_what_is_not_for_them() -> None:
    off = Switches(ops={"onto.task.add": "Broken"})

    view = catalog(*OPS).view_for(Visibility(patterns=("util.*",), switches=off))

    assert view.off_reasons == {}


@pytest.mark.parametrize("name", ["onto.task.add", "onto.task.make", "onto_task_add"])
def test_help_of_what_is_off_says_so_by_any_name(name: str) -> None:
    found = catalog(*OPS)

    with pytest.raises(help_pages.UnknownPath, match=r"onto\.task\.add is switched off: Broken\.") as refused:
        help_pages.answer_query(
            found, HelpQuery(path=name), Visibility(switches=Switches(ops={"onto.task.add": "Broken"}))
        )

    assert refused.value.help_path == "onto.task"


def test_search_and_kept_answers_leave_out_what_is_off_at_once() -> None:
    found = catalog(*OPS)
    on, off = Visibility(), Visibility(switches=Switches(ops={"onto.task.add": "Broken"}))
    query = HelpQuery(path="onto.task")

    before = help_pages.answer_query(found, query, on)

    assert b"onto.task.add" in before.body
    assert b"onto.task.add" not in help_pages.answer_query(found, query, off).body
    assert help_pages.answer_query(found, query, on) is before
    assert "onto.task.add" in search.find_ops(found, found.view_for(on), "add a task", limit=5)
    assert "onto.task.add" not in search.find_ops(found, found.view_for(off), "add a task", limit=5)


@pytest.mark.django_db
def test_follow_swaps_in_what_changed_and_keeps_what_did_not(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    assert switches.get_switches() is ALL_ON
    switch("util")

    assert switches.get_switches() is ALL_ON  # until the follower looks
    with django_assert_num_queries(1):
        switches.refresh_switches()
    found = switches.get_switches()
    assert found.groups == {"util": "Broken"}
    with django_assert_num_queries(1):
        switches.refresh_switches()
    assert switches.get_switches() is found

    Switch.objects.update(reason="Other")
    switches.refresh_switches()
    assert switches.get_switches().groups == {"util": "Other"}
    Switch.objects.update(is_off=False)
    switches.refresh_switches()
    assert switches.get_switches() is ALL_ON


@pytest.mark.django_db
def test_a_process_that_never_looked_looks_before_it_runs_anything() -> None:
    switch("util")

    assert switches.get_switches().groups == {"util": "Broken"}
