"""Errors that repair: most malformed calls succeed by what their error says."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from benchmarks import repair
from benchmarks.figures import GOALS
from registry.models import Op
from tests.support.clients.api import Api
from tests.support.loops import for_each
from workspace.demo import DEMO_OTHER_PROJECT_ID, DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.demo.rows import get_demo_id

MIN_CALLS = 300
DOCUMENT, OTHER_DOCUMENT = (get_demo_id("document", number) for number in (1, 2))
OTHER_TASK, RECURRING_TASK = (get_demo_id("task", number) for number in (2, 18))
MILESTONE, RISK, SERIES = get_demo_id("milestone", 1), get_demo_id("risk", 1), get_demo_id("event", 23)
NOTE, APPEND = "Asked again.", {"update_strategy": "append"}
TASK, MARCH = {"task_id": DEMO_TASK_ID}, {"scope": "this", "occurrence_start": "2027-03-05"}
OF_ANOTHER_OP = "Unknown argument depends_on; onto.edge.link takes it."
NOTE_IN_DETAILS = "note it in details with update_strategy append"


@pytest.fixture
def november(api: Api) -> Iterator[None]:
    """Some calls name days of the year 2027, which must not be over."""
    with time_machine.travel(datetime(2026, 11, 23, 12, tzinfo=UTC)):
        yield


@cache
def replay_corpus() -> list[repair.RepairedCall]:
    """Replay all calls once for the tests of this module. The results are plain data, without rows."""
    return list(repair.replay_corpus(repair.CORPUS))


def test_malformed_calls_succeed_by_what_their_errors_say(november: None) -> None:
    results = replay_corpus()
    by_tool_name = list(repair.replay_corpus(repair.CORPUS, use_tool_names=True, every=4))

    figures = {figure.name: figure for figure in repair.build_figures(results, by_tool_name)}
    assert len(results) >= MIN_CALLS
    assert len({result.id for result in results}) == len(results)
    failed = {result.id: result.problem for result in results if not result.is_repaired}
    assert GOALS["repair.rate"].is_met_by(figures["repair.rate"].value), failed
    assert GOALS["repair.held_out.rate"].is_met_by(figures["repair.held_out.rate"].value), failed
    assert GOALS["repair.tool_names.rate"].is_met_by(figures["repair.tool_names.rate"].value)
    assert GOALS["repair.tokens_p90"].is_met_by(figures["repair.tokens_p90"].value)


def test_no_error_says_the_same_thing_twice(november: None) -> None:
    for result in replay_corpus():
        for envelope in result.errors:
            error = envelope["error"]
            texts = [error["message"], *(each["message"] for each in error["details"]["field_errors"])]
            if error["details"]["reason"] == "invalid_args" and len(texts) > 1 and "field_errors" in texts[0]:
                assert not any(each in texts[0] for each in texts[1:]), (result.id, texts)
            assert len(set(texts)) == len(texts), (result.id, texts)


@for_each(
    "name, args, expected",
    [
        ("finish_task", {"id": DEMO_TASK_ID}, ("onto.task.update", {"task_id": DEMO_TASK_ID, "state_key": "done"})),
        (
            "onto.milestone.tasks",
            {"milestone_id": MILESTONE},
            ("onto.entity.links.get", {"entity_kind": "milestone", "entity_id": MILESTONE, "filter_kind": "task"}),
        ),
        ("remove_task", {"task_id": DEMO_TASK_ID}, ("onto.task.delete", {"task_id": DEMO_TASK_ID})),
        (  # the path, written as a tool name
            "onto_document_tree_move",
            {"document_id": DOCUMENT, "new_parent_id": OTHER_DOCUMENT},
            ("onto.document.tree.move", {"document_id": DOCUMENT, "new_parent_id": OTHER_DOCUMENT}),
        ),
    ],
)
def test_made_up_op_gets_the_call_that_it_means(
    api: Api, name: str, args: dict[str, str], expected: tuple[str, dict[str, str]]
) -> None:
    error = api.post("exec", {"op": name, "args": args}).json()["error"]

    assert error["details"]["retry_with"] == {"op": expected[0], "args": expected[1]}
    assert api.post("exec", error["details"]["retry_with"] | {"dry_run": True}).json()["ok"] is True


@for_each(
    "name, similar",
    [
        ("crm.contact.get", []),  # no group crm is live
        ("crm.contact.list", []),
        ("get_contact", []),  # shares only its verb with util.profile.get
        ("crm.task.list", ["onto.task.list"]),  # about the same entity, but perhaps of another service
        ("calendar.meeting.list", ["cal.event.list"]),  # calendar is a word for the group
    ],
    undone=True,
)
def test_op_of_a_group_that_is_not_live_gets_no_unrelated_call(api: Api, name: str, similar: list[str]) -> None:
    Op.objects.create(op=name, tool_name="draft_only", kind="read", summary="Only in the draft")

    error = api.post("exec", {"op": name, "args": {}}).json()["error"]

    retry = [error["details"]["retry_with"]["op"]] if "retry_with" in error["details"] else []
    assert error["details"]["reason"] == "unknown_op"
    assert error["details"].get("did_you_mean", retry) == similar
    assert bool(retry) == (name == "calendar.meeting.list")


@for_each("name", ["util.contact.get", "util.task.list", "cal.document.create"])
def test_op_that_its_group_lacks_gets_no_op_of_another_group(api: Api, name: str) -> None:
    details = api.post("exec", {"op": name, "args": {}}).json()["error"]["details"]

    assert "retry_with" not in details
    assert {path.partition(".")[0] for path in details.get("did_you_mean", ())} <= {name.partition(".")[0]}


@for_each("name", ["task", "onto.task.fly", "onto.goal.celebrate", "clean_up"])
def test_delete_is_not_suggested_unless_it_was_asked_for(api: Api, name: str) -> None:
    error = api.post("exec", {"op": name, "args": {"task_id": DEMO_TASK_ID}}).json()["error"]

    suggested = error["details"].get("did_you_mean", [])
    assert not [path for path in suggested if path.endswith("delete")]
    assert not str(error["details"].get("retry_with", {}).get("op", "")).endswith("delete")


def test_group_with_one_op_runs_it(api: Api) -> None:
    answer = api.post("exec", {"op": "util.profile", "args": {}}).json()

    assert (answer["ok"], answer["op"]) == (True, "util.profile.get")
    assert answer["meta"]["warnings"] == ["Read util.profile as util.profile.get, its only op."]


def test_argument_of_another_op_names_that_op(api: Api) -> None:
    args = {"task_id": DEMO_TASK_ID, "project_id": DEMO_OTHER_PROJECT_ID}
    error = api.post("exec", {"op": "onto.task.update", "args": args}).json()["error"]

    [field_error] = error["details"]["field_errors"]
    assert field_error["message"] == "Unknown argument project_id; onto.task.move takes it."
    assert error["details"]["retry_with"] == {
        "op": "onto.task.move",
        "args": args | {"expected_project_id": DEMO_PROJECT_ID},
    }


@for_each(
    "name, value, expected",
    [
        ("depends_on", OTHER_TASK, {"dst_kind": "task", "dst_id": OTHER_TASK, "rel": "depends_on"}),
        ("blocked_by", ["Lower the TTL"], {"dst_kind": "task", "dst_title": "Lower the TTL", "rel": "depends_on"}),
        ("risk_id", RISK, {"dst_kind": "risk", "dst_id": RISK, "rel": "targets_risk"}),
        ("blocks", "Lower the TTL", {"dst_kind": "task", "dst_title": "Lower the TTL", "rel": "blocks"}),
    ],
)
def test_argument_that_links_two_rows_becomes_a_link(api: Api, name: str, value: Any, expected: dict[str, Any]) -> None:
    error = api.exec("onto.task.update", {"task_id": DEMO_TASK_ID, name: value})["error"]

    link = {"src_kind": "task", "src_id": DEMO_TASK_ID, **expected}
    assert error["details"]["retry_with"] == {"op": "onto.edge.link", "args": link}


def test_titles_in_a_list_of_ids_become_ids(api: Api) -> None:
    title = api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})["result"]["task"]["title"]

    details = api.exec("onto.task.shift", {"days": 1, "task_ids": [title]})["error"]["details"]

    assert details["retry_with"] == {"op": "onto.task.shift", "args": {"days": 1, "task_ids": [DEMO_TASK_ID]}}
    assert [error["path"] for error in details["field_errors"]] == ["/task_ids/0"]


@for_each(
    "op, args, message",
    [
        # A link beside other changes is named and loses nothing.
        *(
            ("onto.task.update", TASK | {**other, "depends_on": OTHER_TASK}, OF_ANOTHER_OP)
            for other in ({"title": "A"}, {"props": {"a": 1}})
        ),
        # Several states where one is taken are told as such.
        (
            "onto.project.list",
            {"state_key": ["active", "paused"]},
            "state_key takes one state: send active or paused, or leave it out for rows in any.",
        ),
        # An offset is not left out, because the page would be another.
        (
            "onto.task.list",
            {"offset": 20},
            "Unknown argument offset; for the next page, send next_cursor as cursor.",
        ),
    ],
)
def test_call_that_would_mean_something_else_is_only_explained(
    api: Api, op: str, args: dict[str, Any], message: str
) -> None:
    details = api.exec(op, args)["error"]["details"]

    assert [error["message"] for error in details["field_errors"]] == [message]
    assert "retry_with" not in details


def test_rules_are_told_together_with_the_schema(api: Api) -> None:
    times = {"start_at": "2026-12-05T10:00:00Z", "due_at": "2026-12-01T10:00:00Z"}
    args = {"project_id": DEMO_PROJECT_ID, "title": "A", **times}

    swapped = api.exec("onto.task.create", args | {"priority": "P1"})["error"]["details"]
    blank = api.exec("onto.task.create", args | {"priority": "perhaps", "title": " "})["error"]["details"]

    assert {each["path"] for each in swapped["field_errors"]} == {"/priority", "/due_at"}
    assert swapped["retry_with"]["args"] == args | {
        "priority": 1,
        "start_at": times["due_at"],
        "due_at": times["start_at"],
    }
    assert [each["path"] for each in blank["field_errors"]] == ["/priority", "/title"]
    assert "retry_with" not in blank


@for_each(
    "op, args",
    [
        ("onto.task.delete", {"task_id": DEMO_TASK_ID, "depends_on": OTHER_TASK}),  # a link, where nothing is updated
        ("onto.task.update", {"task_id": DEMO_TASK_ID, "description": "All of it.", "note": "A"}),  # two texts
        ("onto.task.update", {"title": "Lower the TTL", "state_key": "done"}),  # part of another title
        ("onto.task.shift", {"days": 1, "limit": 3}),  # it bounds the write
        ("onto.task.shift", {"days": 1, "include_subtasks": 3}),
        *(  # negated states, which are no misspellings of the states
            ("onto.project.update", {"project_id": DEMO_PROJECT_ID, "state_key": word})
            for word in ("unfinished", "inactive", "uncompleted")
        ),
    ],
)
def test_write_that_may_mean_something_else_gets_no_corrected_call(api: Api, op: str, args: dict[str, Any]) -> None:
    assert "retry_with" not in api.exec(op, args)["error"]["details"]


def test_note_is_added_to_the_text(api: Api) -> None:
    before = api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})["result"]["task"]["details"]

    call = api.exec("onto.task.update", TASK | {"note": NOTE})["error"]["details"]["retry_with"]
    api.exec(call["op"], call["args"])

    after = api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})["result"]["task"]["details"]
    assert (after.startswith(before.rstrip()), after.endswith("\n\nAsked again.")) == (True, True)


def test_tag_to_add_is_no_text(api: Api) -> None:
    details = api.exec("onto.document.update", {"document_id": DOCUMENT, "add_tags": ["a"]})["error"]["details"]

    assert "update_strategy" not in details.get("retry_with", {}).get("args", {})


@for_each("name", ["note", "new_note", "progress_note"])
def test_note_does_not_replace_a_text_unasked(api: Api, name: str) -> None:
    details = api.exec("onto.milestone.update", {"milestone_id": MILESTONE, name: "A"})["error"]["details"]

    assert "retry_with" not in details
    assert details["field_errors"][0]["message"].endswith("It replaces the text.")


def test_dry_run_is_repeated_as_a_dry_run(api: Api) -> None:
    body = {"op": "onto.task.complete", "args": {"task_id": DEMO_TASK_ID}, "dry_run": True}

    retry_with = api.post("exec", body).json()["error"]["details"]["retry_with"]

    assert (retry_with["op"], retry_with["dry_run"]) == ("onto.task.update", True)


def test_occurrence_without_scope_gets_the_smallest(api: Api) -> None:
    args = {"task_id": RECURRING_TASK, "occurrence_start": (timezone.now() + timedelta(days=7)).date().isoformat()}

    details = api.exec("onto.task.delete", args)["error"]["details"]

    assert [each["path"] for each in details["field_errors"]] == ["/scope"]
    assert details["retry_with"] == {"op": "onto.task.delete", "args": args | {"scope": "this"}}


@for_each(
    "op, row, fields",
    [
        ("cal.event.delete", ("event", 23), {}),
        ("onto.task.update", ("task", 18), {"title": "A"}),
    ],
)
@for_each("scope", [{}, {"scope": "all"}])
def test_occurrence_without_scope_in_words_gets_both_at_once(
    api: Api, op: str, row: tuple[str, int], fields: dict[str, str], scope: dict[str, str]
) -> None:
    args = {f"{row[0]}_id": get_demo_id(*row)} | fields
    sent = args | scope | {"occurrence_start": "1 dec 2027"}

    details = api.exec(op, sent)["error"]["details"]

    assert [error["path"] for error in details["field_errors"]] == ["/occurrence_start", "/scope"]
    occurrence = {"occurrence_start": "2027-12-01", "scope": "this"}
    assert details["retry_with"] == {"op": op, "args": args | occurrence}


def test_beside_an_unreadable_value_a_missing_scope_is_told_and_no_rule_about_the_value(api: Api) -> None:
    series = {"recurrence": "on tuesdays and fridays", "recurrence_until": "2027-05-30T09:00:00Z"}

    soon = api.exec("cal.event.delete", {"event_id": SERIES, "occurrence_start": "soon"})["error"]["details"]
    words = api.exec("onto.task.update", TASK | series)["error"]["details"]

    assert [error["path"] for error in soon["field_errors"]] == ["/occurrence_start", "/scope"]
    assert "retry_with" not in soon
    assert [error["path"] for error in words["field_errors"]] == ["/recurrence"]


def test_new_time_of_a_recurring_event_is_proposed_for_one_occurrence(api: Api) -> None:
    event_id = SERIES
    rows = api.exec("cal.event.list", {"limit": 50})["result"]["events"]
    start = [row["start_at"] for row in rows if row["id"] == event_id][-1]
    args = {"event_id": event_id, "start_at": f"{start[:10]}T20:00"}

    details = api.exec("cal.event.update", args)["error"]["details"]
    done = api.exec(details["retry_with"]["op"], details["retry_with"]["args"])

    assert details["retry_with"]["args"]["scope"] == "this"
    assert details["retry_with"]["args"]["occurrence_start"].startswith(start)
    assert "the others stay" in done["result"]["message"]


OTHER_WRITES, OTHER_LISTS = (".update", ".move"), ("cal.event.list", "onto.task.list")


@for_each(
    "op, args, others",
    [
        ("cal.event.delete", {"event_id": get_demo_id("event", 2), "title": "New"}, OTHER_WRITES),
        ("cal.event.delete", {"event_id": get_demo_id("event", 2), "end_at": "2027-03-05"}, OTHER_WRITES),
        ("onto.task.delete", TASK | {"new_project_id": get_demo_id("project", 2)}, OTHER_WRITES),
        ("onto.document.delete", {"document_id": DOCUMENT, "parent_id": OTHER_DOCUMENT}, OTHER_WRITES),
        ("onto.project.search", {"query": "trade fair", "time_min": "2027-01-01"}, OTHER_LISTS),
        ("onto.project.list", {"due_before": "2027-01-01"}, OTHER_LISTS),
        ("onto.task.shift", {"days": 1, "assignee": "Ines"}, ("leave it out",)),  # a filter that no row has
        # What is to be left out is not what is meant.
        ("onto.task.shift", {"days": 1, "except_ids": [DEMO_TASK_ID]}, ("send task_ids",)),
        ("onto.task.shift", {"days": 1, "excludeTaskIds": [DEMO_TASK_ID]}, ("send task_ids",)),
        ("onto.task.list", {"state_key_not": "done"}, ("send state_key",)),
    ],
)
def test_call_never_becomes_one_of_other_rows_or_another_write(
    api: Api, op: str, args: dict[str, Any], others: tuple[str, ...]
) -> None:
    error = api.exec(op, args)["error"]

    assert "retry_with" not in error["details"]
    assert not any(path in str(error) for path in others)


def test_offset_moves_the_date_that_the_row_has(api: Api) -> None:
    task = api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})["result"]["task"]
    args = {"task_id": DEMO_TASK_ID, "due_at": "+1 week"}

    details = api.exec("onto.task.update", args)["error"]["details"]

    week_later = datetime.fromisoformat(task["due_at"]).date() + timedelta(days=7)
    assert details["retry_with"]["args"]["due_at"] == week_later.isoformat()


def test_day_keeps_the_time_that_the_row_has(api: Api) -> None:
    api.exec(
        "onto.task.update", {"task_id": DEMO_TASK_ID, "start_at": "2026-11-30T10:15", "due_at": "2026-12-02T18:00"}
    )
    args = {"task_id": DEMO_TASK_ID, "start_at": "2026-12-10", "due_at": "2026-12-11"}

    details = api.exec("cal.task.schedule", args)["error"]["details"]

    assert details["retry_with"]["args"] == {
        "task_id": DEMO_TASK_ID,
        "start_at": "2026-12-10T10:15",
        "due_at": "2026-12-11T18:00",
    }
    assert all("at its current time" in each["message"] for each in details["field_errors"])


@for_each("op", ["onto.task.list", "onto.task.shift"])
@for_each("word", ["open", "unfinished", "pending", "active"])
def test_open_in_a_filter_means_every_unfinished_state(api: Api, op: str, word: str) -> None:
    args = {"days": 1, "project_id": DEMO_PROJECT_ID} if op == "onto.task.shift" else {}

    details = api.exec(op, args | {"state_key": word})["error"]["details"]

    assert details["retry_with"]["args"]["state_key"] == ["todo", "in_progress", "blocked"]
    [message] = [error["message"] for error in details["field_errors"]]
    assert message == "Send state_key as a list: todo, in_progress, blocked."


@for_each(
    "op, args, states",
    [
        ("onto.task.search", {"query": "a", "state_key": "open"}, ["todo", "in_progress", "blocked"]),
        ("onto.project.list", {"state_key": "inactive"}, ["completed", "cancelled"]),
        ("onto.document.list", {"state_key": "active"}, ["draft", "in_review", "ready"]),
    ],
)
def test_open_is_no_single_state_of_several(api: Api, op: str, args: dict[str, str], states: list[str]) -> None:
    details = api.exec(op, args)["error"]["details"]

    assert "retry_with" not in details
    assert details["field_errors"][0]["expected"] == states
    assert details["field_errors"][0]["message"] == (
        f"state_key takes one state: send {' or '.join(states)}, or leave it out for rows in any."
    )


def test_retry_names_what_it_leaves_out(api: Api) -> None:
    args = {"task_id": DEMO_TASK_ID, "assignee": "Ines", "due_at": "1 dec 2027", "priority": "P1", "colour": "red"}

    details = api.exec("onto.task.update", args)["error"]["details"]

    messages = {error["path"]: error["message"] for error in details["field_errors"]}
    assert messages["/colour"].endswith("It is left out of retry_with.")
    assert messages["/assignee"] == f"A task has no assignee; leave it out, or {NOTE_IN_DETAILS}."
    assert details["retry_with"]["args"] == {"task_id": DEMO_TASK_ID, "due_at": "2027-12-01", "priority": 1}


def test_value_that_cannot_be_read_withholds_no_correction_of_a_read(api: Api) -> None:
    args = {"project_id": "Kitchen renovation", "sort_by": "relevance"}

    details = api.exec("onto.task.list", args)["error"]["details"]

    assert details["retry_with"]["args"] == {"project_id": get_demo_id("project", 2)}
    assert any(error["message"].endswith("It is left out of retry_with.") for error in details["field_errors"])


@for_each("filter", [{"due_before": "perhaps"}, {"depends_on": OTHER_TASK}, {"only_if_open": True}])
def test_write_is_not_proposed_without_what_could_limit_it(api: Api, filter: dict[str, Any]) -> None:
    details = api.exec("onto.task.update", TASK | {"titel": "A", "due_at": "perhaps"} | filter)["error"]["details"]

    assert "retry_with" not in details


@for_each(
    "op, args", [("onto.project.delete", {"name": "photo book"}), ("onto.project.delete", {"project_id": "photo"})]
)
def test_name_of_one_row_proposes_its_deletion_with_the_title(api: Api, op: str, args: dict[str, str]) -> None:
    details = api.exec(op, args)["error"]["details"]

    assert details["retry_with"] == {"op": op, "args": {"project_id": get_demo_id("project", 9)}}
    assert any(error.get("expected", [{}])[0].get("title") for error in details["field_errors"])


@for_each(
    "op, args, expected",
    [
        (
            "onto.document.get",
            {"document_id": OTHER_TASK},
            ("onto.task.get", {"task_id": OTHER_TASK}),
        ),
        (
            "onto.task.create",
            {"project_id": MILESTONE, "title": "A"},
            ("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "A"}),
        ),
        (
            "onto.task.create",
            {"project_id": DEMO_PROJECT_ID, "title": "A", "goal_id": MILESTONE},
            ("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "A", "supporting_milestone_id": MILESTONE}),
        ),
        ("onto.task.delete", {"task_id": RISK}, ("onto.risk.delete", {"risk_id": RISK})),
    ],
)
def test_id_of_another_kind_is_named_with_the_call_that_was_meant(
    api: Api, op: str, args: dict[str, str], expected: tuple[str, dict[str, str]]
) -> None:
    error = api.exec(op, args)["error"]

    assert error["details"]["reason"] == "not_found"
    assert error["details"]["field_errors"][0]["code"] == "wrong_kind"
    assert error["details"]["retry_with"] == {"op": expected[0], "args": expected[1]}


def test_id_that_nobody_can_see_is_of_no_kind(api: Api) -> None:
    error = api.exec("onto.task.get", {"task_id": "00000000-0000-4000-8000-000000000000"})["error"]

    assert (error["details"]["field_errors"], "retry_with" in error["details"]) == ([], False)


@for_each(
    "sent, fields",
    [("all", ["*"]), (["everything"], ["*"]), (["title", "due", "status"], ["title", "due_at", "state_key"])],
)
def test_fields_in_other_words_are_corrected(api: Api, sent: Any, fields: list[str]) -> None:
    details = api.exec("onto.task.list", {"fields": sent})["error"]["details"]

    assert details["retry_with"]["args"] == {"fields": fields}


@for_each(
    "op, args, message",
    [
        (
            "onto.goal.update",
            {"progress": 50},
            "A goal has no progress; leave it out, or note it in description with update_strategy append.",
        ),
        (
            "onto.risk.update",
            {"owner": "Ines"},
            "A risk has no owner; leave it out, or send the old description with it added.",
        ),
        (
            "onto.task.update",
            {"title": "A", "details": "All.", "owner": "Ines"},
            "A task has no owner; leave it out, or note it in details.",
        ),
        ("onto.goal.list", {"owner": "Ines"}, "A goal has no owner; leave it out."),
    ],
)
def test_field_that_no_row_has_says_what_to_do(api: Api, op: str, args: dict[str, Any], message: str) -> None:
    kind = op.split(".")[1]
    id_args = {f"{kind}_id": get_demo_id(kind, 1)} if op.endswith("update") else {}

    details = api.exec(op, id_args | args)["error"]["details"]

    assert [error["message"] for error in details["field_errors"]] == [message]


@for_each(
    "op, args, corrected",
    [
        # A field that no row has is left out of an update.
        ("onto.task.update", TASK | {"percent_complete": 60, "due_at": "1 dec 2027"}, TASK | {"due_at": "2027-12-01"}),
        ("onto.task.update", TASK | {"percent_complete": 60, "note": NOTE}, TASK | {"details": NOTE} | APPEND),
        ("onto.task.update", TASK | {"memo": NOTE, "owner": "Ines"}, TASK | {"details": NOTE} | APPEND),
        # So is the project of the row.
        ("onto.task.update", TASK | {"title": "A", "project_id": DEMO_PROJECT_ID}, TASK | {"title": "A"}),
        # A name with a word for adding adds to the text.
        ("onto.task.update", TASK | {"new_note": NOTE}, TASK | {"details": NOTE} | APPEND),
        (
            "onto.document.update",
            {"document_id": DOCUMENT, "append_text": NOTE},
            {"document_id": DOCUMENT, "content": NOTE} | APPEND,
        ),
        # A scope that was sent stays.
        (
            "cal.event.delete",
            {"event_id": SERIES, "scope": "following", "occurrence_start": "1 dec 2027"},
            {"event_id": SERIES, "scope": "following", "occurrence_start": "2027-12-01"},
        ),
        # A time that is sent to a delete is the occurrence to delete.
        ("cal.event.delete", {"event_id": SERIES, "start_at": "2027-03-05"}, {"event_id": SERIES} | MARCH),
        ("onto.task.delete", {"task_id": RECURRING_TASK, "day": "2027-03-05"}, {"task_id": RECURRING_TASK} | MARCH),
    ],
)
def test_corrected_call_keeps_what_was_meant(
    api: Api, op: str, args: dict[str, Any], corrected: dict[str, Any]
) -> None:
    details = api.exec(op, args)["error"]["details"]

    assert details["retry_with"] == {"op": op, "args": corrected}
    assert not any(error["message"].endswith("..") for error in details["field_errors"])


def test_note_beside_a_wrong_name_is_still_added_to_the_text(api: Api) -> None:
    args = {"goal_id": get_demo_id("goal", 1), "notes": "We kept it.", "colour": "red"}

    details = api.exec("onto.goal.update", args)["error"]["details"]

    assert details["field_errors"][-1]["message"].endswith("It is left out of retry_with.")
    assert details["retry_with"]["args"] == {"goal_id": args["goal_id"], "description": "We kept it."} | APPEND


@for_each("op", ["onto.project.search", "onto.task.search"])
@for_each("argument", [{"sort_by": "name"}, {"include_links": True}])
def test_argument_about_the_answer_is_left_out(api: Api, op: str, argument: dict[str, Any]) -> None:
    details = api.exec(op, {"query": "trade fair"} | argument)["error"]["details"]

    [name] = argument
    assert [error["message"] for error in details["field_errors"]] == [f"Unknown argument {name}; leave it out."]
    assert details["retry_with"] == {"op": op, "args": {"query": "trade fair"}}


@for_each(
    "op, args, rows",
    [
        ("onto.task.search", {"query": "trade fair"}, "tasks"),
        ("onto.task.get", {"task_id": DEMO_TASK_ID}, "task"),
        ("onto.project.get", {"project_id": DEMO_PROJECT_ID}, "project"),
    ],
)
@for_each("place", ["args", "call"])
def test_fields_are_exactly_these_wherever_they_are_sent(
    api: Api, op: str, args: dict[str, Any], rows: str, place: str
) -> None:
    name = "state_key"
    fields = {"fields": [name]}

    envelope = api.exec(op, args | fields) if place == "args" else api.exec(op, args, **fields)

    shown = envelope["result"][rows]
    for row in shown if isinstance(shown, list) else [shown]:
        assert row.keys() <= {"id", name}
    unknown = api.exec(op, args, fields=["colour"])["error"]["details"]["field_errors"]
    assert [(error["path"], error["code"]) for error in unknown] == [("/fields/0", "unknown_field")]
    assert name in unknown[0]["message"]


def test_create_shows_the_fields_that_were_asked_for(api: Api) -> None:
    args = {"project_id": DEMO_PROJECT_ID, "title": "Print the flyers"}

    lean = api.exec("onto.task.create", args)["result"]["task"]
    asked = api.exec("onto.task.create", args, fields=["priority"])["result"]["task"]
    whole = api.exec("onto.task.create", args, fields=["*"])["result"]["task"]

    assert lean.keys() == {"id", "title", "state_key"}
    assert asked == {"id": asked["id"], "priority": 3}
    assert whole.keys() >= {"description", "completed_at", "props", "created_by"}


def test_dependency_of_a_new_task_becomes_a_connection(api: Api) -> None:
    args = {"project_id": DEMO_PROJECT_ID, "title": "Print the flyers"}

    details = api.exec("onto.task.create", args | {"depends_on": [DEMO_TASK_ID]})["error"]["details"]
    done = api.exec("onto.task.create", details["retry_with"]["args"])

    connection = {"kind": "task", "id": DEMO_TASK_ID, "rel": "depends_on"}
    assert details["retry_with"]["args"] == args | {"connections": [connection]}
    assert [edge["rel"] for edge in done["result"]["edges"]] == ["depends_on"]


def test_title_gets_its_id_even_if_the_call_stays_wrong(api: Api) -> None:
    title = api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})["result"]["task"]["title"]
    args = {"task_id": title, "title": "A", "depends_on": OTHER_TASK}

    details = api.exec("onto.task.update", args)["error"]["details"]

    assert "retry_with" not in details
    [error] = [each for each in details["field_errors"] if each["path"] == "/task_id"]
    assert error["message"] == "task_id is a title; send the id of its task."
    assert error["expected"] == DEMO_TASK_ID


@for_each("op, fields", [("onto.task.get", {}), ("onto.task.update", {"title": "A"})])
def test_some_words_of_one_title_propose_its_id_with_the_title(api: Api, op: str, fields: dict[str, str]) -> None:
    details = api.exec(op, {"task_id": "TTL records"} | fields)["error"]["details"]

    [error] = details["field_errors"]
    assert error["message"] == "No task has this title; retry_with has the id of the only one with these words."
    assert [each["title"] for each in error["expected"]] == ["Lower the TTL of the DNS records"]
    assert details["retry_with"] == {"op": op, "args": {"task_id": error["expected"][0]["id"]} | fields}


@for_each(
    "op, args, title",
    [
        (
            "onto.edge.link",
            {"src_kind": "task", "src_id": DEMO_TASK_ID, "dst_kind": "task", "dst_title": "TTL", "rel": "depends_on"},
            "Lower the TTL of the DNS records",
        ),
        ("onto.document.move", {"document_id": DOCUMENT, "new_parent_title": "hosting"}, "Hosting comparison"),
    ],
)
def test_some_words_of_one_title_are_a_candidate_only(api: Api, op: str, args: dict[str, str], title: str) -> None:
    details = api.exec(op, args)["error"]["details"]

    [error] = details["field_errors"]
    assert title in [row.get("title") for row in error["expected"]]
    assert "retry_with" not in details


def test_title_of_several_rows_gets_candidates(api: Api) -> None:
    for _ in range(2):
        api.exec("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "Call the printer"})

    error = api.post("exec", {"op": "onto.task.get", "args": {"task_id": "call the printer"}}).json()["error"]

    [field_error] = error["details"]["field_errors"]
    assert field_error["code"] == "ambiguous_title"
    assert [row["title"] for row in field_error["expected"]] == ["Call the printer"] * 2
    assert "retry_with" not in error["details"]


def test_title_of_a_row_that_the_subject_cannot_see_is_not_found(api: Api, make_api: Any) -> None:
    api.exec("onto.task.create", {"project_id": DEMO_OTHER_PROJECT_ID, "title": "Hidden from the colleague"})
    colleague = make_api(acts_for="demo-colleague")

    error = colleague.exec("onto.task.get", {"task_id": "Hidden from the colleague"})["error"]

    assert "Hidden" not in json.dumps(error)
    assert "retry_with" not in error["details"]
