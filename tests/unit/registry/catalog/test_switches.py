"""Switches in memory: ops, groups and connections, read in one query and left out of every list."""

import pytest
from pytest_django import DjangoAssertNumQueries

from registry import search
from registry.catalog import switches
from registry.catalog.model import Visibility
from registry.catalog.switches import ALL_ON, Switches
from registry.help import help_pages
from registry.help.answers import UnknownPath
from registry.help.help_pages import HelpQuery
from registry.models import Switch
from tests.support.rows.op_entries import build_catalog, build_op_entry
from tests.support.rows.switches import create_switch

OPS = [
    build_op_entry("onto.task.get", summary="Get one task", connection="workspace"),
    build_op_entry(
        "onto.task.add", summary="Add one task", kind="write", aliases=["onto.task.make"], connection="workspace"
    ),
    build_op_entry("onto.project.get", summary="Get one project", connection="workspace"),
    build_op_entry("util.info", summary="Tell of fields", connection="utilities"),
    build_op_entry("old.op", status="retired", successor="onto.task.get"),
]
OTHERS = {path["op"] for path in OPS} - {"old.op"}


@pytest.mark.parametrize(
    ("off", "hidden", "reason"),
    [
        (Switches(ops={"onto.task.add": "Broken"}), {"onto.task.add"}, "onto.task.add is switched off: Broken."),
        # Renamed since: its old name is now an alias.
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
        # Only whole path segments: onto.tas is not a group of onto.task.add.
        (Switches(groups={"onto.tas": "x"}, ops={"onto": "x"}, connections={"work": "x"}), set(), None),
    ],
)
def test_switched_off_op_is_in_no_list_and_gives_its_reason(
    off: Switches, hidden: set[str], reason: str | None
) -> None:
    catalog = build_catalog(*OPS)

    view = catalog.view_for(Visibility(switches=off))

    assert view.ops == OTHERS - hidden
    assert view.counts["root"] == len(OTHERS - hidden)
    assert view.off_reasons.get("onto.task.add") == reason
    assert {path for path in view.off_reasons if path in catalog.ops} == hidden


def test_group_with_all_ops_off_is_hidden_and_gives_the_reason() -> None:
    catalog = build_catalog(*OPS)

    whole = catalog.view_for(Visibility(switches=Switches(groups={"onto.task": "Down"})))
    one_by_one = catalog.view_for(Visibility(switches=Switches(ops={"onto.task.add": "A", "onto.task.get": "B"})))

    for view in (whole, one_by_one):
        assert view.children["onto"] == ("onto.project",)
    assert whole.off_reasons["onto.task"] == "onto.task is switched off: Down."
    assert one_by_one.off_reasons["onto.task"] == "Every op of onto.task is off or cannot run."
    assert "onto" not in one_by_one.off_reasons
    outside = Visibility(patterns=("util.*",), switches=Switches(ops={"onto.task.add": "Broken"}))
    assert catalog.view_for(outside).off_reasons == {}


@pytest.mark.parametrize("name", ["onto.task.add", "onto.task.make", "onto_task_add"])
def test_help_reports_a_switched_off_op_under_all_its_names(name: str) -> None:
    catalog = build_catalog(*OPS)

    with pytest.raises(UnknownPath, match=r"onto\.task\.add is switched off: Broken\.") as refused:
        help_pages.answer_query(
            catalog, HelpQuery(path=name), Visibility(switches=Switches(ops={"onto.task.add": "Broken"}))
        )

    assert refused.value.help_path == "onto.task"


def test_search_and_cached_answers_drop_a_switched_off_op_at_once() -> None:
    catalog = build_catalog(*OPS)
    on, off = Visibility(), Visibility(switches=Switches(ops={"onto.task.add": "Broken"}))
    query = HelpQuery(path="onto.task")

    before = help_pages.answer_query(catalog, query, on)

    assert b"onto.task.add" in before.body
    assert b"onto.task.add" not in help_pages.answer_query(catalog, query, off).body
    assert help_pages.answer_query(catalog, query, on) is before
    assert "onto.task.add" in search.find_ops(catalog, catalog.view_for(on), "add a task", limit=5)
    assert "onto.task.add" not in search.find_ops(catalog, catalog.view_for(off), "add a task", limit=5)


@pytest.mark.django_db
def test_follow_replaces_only_what_changed(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    assert switches.get_switches() is ALL_ON
    create_switch("util")

    assert switches.get_switches() is ALL_ON  # until the poller runs
    with django_assert_num_queries(1):
        switches.refresh_switches()
    current = switches.get_switches()
    assert current.groups == {"util": "Broken"}
    with django_assert_num_queries(1):
        switches.refresh_switches()
    assert switches.get_switches() is current

    Switch.objects.update(reason="Other")
    switches.refresh_switches()
    assert switches.get_switches().groups == {"util": "Other"}
    Switch.objects.update(is_off=False)
    switches.refresh_switches()
    assert switches.get_switches() is ALL_ON


@pytest.mark.django_db
def test_new_process_reads_switches_before_its_first_call() -> None:
    create_switch("util")

    assert switches.get_switches().groups == {"util": "Broken"}
