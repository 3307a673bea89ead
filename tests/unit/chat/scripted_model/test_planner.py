"""The planner: which calls it makes for a message."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.scripted_model.plans import Answer, ScriptedToolCall
from chat.scripted_model.scripts import SUGGESTIONS
from tests.support.cpu_budget import examples
from tests.unit.chat.scripted_model.requests import (
    BUY,
    SELL,
    TASK_LIST,
    ask,
    build_assistant,
    build_exec,
    build_round,
    build_success,
    build_tools,
    build_user,
    get_exec,
)


def test_high_priority_tasks_are_one_list() -> None:
    answer = ask(build_user("high-priority tasks?"))

    assert answer.finish_reason == "tool_calls"
    assert get_exec(answer) == (
        "onto.task.list",
        {"priority": [1, 2], "sort_by": "priority", "state_key": ["todo", "in_progress", "blocked"], "limit": 8},
    )

    final = ask(build_user("high-priority tasks?"), TASK_LIST)

    assert final.finish_reason == "stop"
    assert final.text.startswith("2 open tasks of priority 1 or 2:\n\n- **Buy paint** — todo, priority 1")


def test_details_of_a_shown_row_are_one_get() -> None:
    shown = [build_user("my tasks"), *TASK_LIST, build_assistant("2 tasks:\n\n- **Buy paint**\n- **Sell the fridge**")]

    for message in (
        "tell me more about the second one",
        "Tell me more about the fridge",
        "details of “sell the fridge”",
    ):
        assert get_exec(ask(shown, build_user(message))) == (
            "onto.task.get",
            {"task_id": SELL["id"], "max_chars": 1500},
        ), message


def test_title_without_a_shown_row_is_searched_for() -> None:
    question = build_user("tell me more about the task “Buy paint”")

    assert get_exec(ask(question)) == ("onto.task.search", {"query": "Buy paint", "limit": 5})

    found, nothing = (
        build_exec("onto.task.search", build_success("onto.task.search", tasks=rows, total=len(rows)))
        for rows in ([BUY], [])
    )
    assert get_exec(ask(question, found)) == ("onto.task.get", {"task_id": BUY["id"], "max_chars": 1500})
    assert ask(build_user("delete the task “Fly”"), nothing).text == "I found no task named “Fly”."


def test_typed_and_pinned_tools_are_called_by_their_names() -> None:
    tools = build_tools("list_onto_tasks", "search_onto_tasks")
    pinned = build_tools("tool_help", "tool_exec", "tool_batch", "list_onto_tasks")

    answer = ask(build_user("blocked tasks"), tools=tools)

    assert answer.tool_calls == (ScriptedToolCall("list_onto_tasks", {"state_key": ["blocked"], "limit": 8}),)
    assert ask(build_user("my tasks"), tools=pinned).tool_calls[0].name == "list_onto_tasks"
    assert ask(build_user("my risks"), tools=pinned).tool_calls[0].name == "tool_exec"


def test_parallel_reads_are_one_batch_or_several_calls() -> None:
    messages = [build_user("Give me an overview of the Website relaunch.")]
    project = {"id": "p1", "name": "Website relaunch"}

    messages += build_exec("onto.project.search", build_success("onto.project.search", projects=[project]))
    (batch,) = ask(messages).tool_calls
    assert batch.name == "tool_batch"
    expected = ["onto.project.get", "onto.task.list", "onto.milestone.list"]
    assert [entry["op"] for entry in batch.arguments["ops"]] == expected
    calls = ask(messages, tools=build_tools("search_onto_projects")).tool_calls
    assert [call.name for call in calls] == ["get_onto_project_details", "list_onto_tasks", "list_onto_milestones"]

    results = [{"index": at, **build_success(op)} for at, op in enumerate(("onto.project.get", "onto.task.list"))]
    text = ask(messages, build_round("tool_batch", batch.arguments, {"ok": False, "results": results})).text
    assert text.startswith("`onto.milestone.list` failed")


def test_earlier_turns_do_not_answer_the_current_one() -> None:
    answer = ask(build_user("my tasks"), TASK_LIST, build_assistant("2 tasks"), build_user("my tasks"))

    assert get_exec(answer)[0] == "onto.task.list"


@pytest.mark.parametrize("reply", ["no", "No, thanks.", "cancel"])
def test_no_to_a_question_changes_nothing(reply: str) -> None:
    question = build_assistant("2 tasks are named “logos”. Which of these do you mean?\n\n1. **Buy paint**")

    answer = ask(build_user("delete the logos task"), TASK_LIST, question, build_user(reply))

    assert answer == Answer("All right. Nothing was changed.")


@pytest.mark.parametrize("message", ["", "asdf", "what's the weather like in Rome, Italy, on a rainy day", "🙂", "yes"])
def test_message_that_no_rule_knows_gets_an_introduction(message: str) -> None:
    answer = ask(build_user(message))

    if not answer.tool_calls:
        assert "I am the scripted model" in answer.text
        assert "LLM_BASE_URL" in answer.text


def test_request_without_tools_calls_none_and_says_what_results_say() -> None:
    answer = ask(build_user("my tasks"), tools=[])

    assert answer.tool_calls == ()
    assert "scripted model" in answer.text
    assert ask(build_user("my tasks"), TASK_LIST, tools=[]).text.startswith("2 tasks:")


def test_heading_in_bold_is_no_row_of_a_list() -> None:
    text = "2 tasks in **Buy paint**:\n\n- **Sell the fridge** — todo\n- **Buy paint** — todo"

    answer = ask(
        build_user("my tasks"), TASK_LIST, build_assistant(text), build_user("tell me more about the first one")
    )

    assert get_exec(answer)[1]["task_id"] == SELL["id"]


def test_task_is_created_in_the_project_that_the_user_looks_at() -> None:
    place = {
        "role": "system",
        "content": f"## The user looks at the project Roof garden\n- Id: {BUY['id']}\n- State: x",
    }

    answer = ask(place, build_user("add a task “Sow tomatoes”"))

    assert get_exec(answer) == ("onto.task.create", {"project_id": BUY["id"], "title": "Sow tomatoes"})


def test_new_project_is_named_by_what_follows_a_colon() -> None:
    question = build_user("Start a project: Repaint the hallway")
    none = build_exec("onto.project.search", build_success("onto.project.search", projects=[]))

    answer = ask(question, none)

    assert get_exec(answer)[0] == "onto.project.create"
    assert "'Repaint the hallway'" in str(get_exec(answer)[1])


def test_risks_are_listed_only_if_the_help_names_the_op() -> None:
    question = build_user(SUGGESTIONS[8].text)
    project = build_exec(
        "onto.project.search", build_success("onto.project.search", projects=[{"id": "p", "name": "W"}])
    )

    for paths, is_listed in ((["onto.risk.get", "onto.risk.list"], True), (["onto.task.list"], False), ([], False)):
        help_page = {"type": "search", "items": [{"path": path} for path in paths]}
        answer = ask(question, build_round("tool_help", {"query": "x"}, help_page, call_id="help"), project)

        assert bool(answer.tool_calls) is is_listed, paths
        assert is_listed or answer.text == "The help names no op for that, so I called none."


def test_row_with_the_title_of_its_event_is_meant_by_its_title() -> None:
    event = {"id": "e", "title": "Buy paint", "start_at": "2026-11-30T10:00"}
    scheduled = build_exec("cal.task.schedule", build_success("cal.task.schedule", task=BUY, events=[event]))
    earlier = [build_user("schedule “Buy paint”"), *scheduled, build_assistant("Scheduled “Buy paint”.")]

    for message, argument in (
        ("schedule “Buy paint” on Monday at 11:00", "task_id"),
        ("delete “Buy paint”", "task_id"),
    ):
        assert get_exec(ask(earlier, build_user(message)))[1][argument] == BUY["id"], message
    assert get_exec(ask(earlier, build_user("delete the event “Buy paint”"))) == ("cal.event.delete", {"event_id": "e"})


def test_no_free_time_is_said() -> None:
    slots = build_exec("cal.slot.find", build_success("cal.slot.find", slots=[], total=0))

    assert ask(build_user(SUGGESTIONS[3].text), slots).text == "You have no free hour next week."
    assert ask(build_user("when am I free tomorrow?"), slots).text == "You have no 60 minutes free then."


_PHRASES = st.sampled_from(
    (
        "and", "what about", "delete", "move", "schedule", "create a", "which of these is most urgent", "put",
        "rename", "task", "event", "project", "note", "it", "the first one", "“Buy paint”", "“", "to", "in the",
        "Roof garden", "tomorrow", "next friday", "29 feb", "31 april 2027", "in 999 weeks", "by 999 days",
        "this week", "9999-99-99", "at 25:99", "at 14:00 instead", "to 3pm", "for 999 hours", "priority 9", "yes",
        "no", "?", "due", "afternoon",
    )
)  # fmt: skip
_MESSAGES = st.lists(_PHRASES | st.text(max_size=8), max_size=8).map(" ".join)


@settings(max_examples=examples(150))
@given(messages=st.lists(_MESSAGES, min_size=1, max_size=4))
def test_any_conversation_gets_an_answer(messages: list[str]) -> None:
    text = "2 tasks:\n\n- **Buy paint**\n- **Sell the fridge**\n\nWhich of these do you mean?"
    *earlier, last = messages
    past = [each for message in earlier for each in (build_user(message), *TASK_LIST, build_assistant(text))]

    answer = ask(past, build_user(last))

    assert bool(answer.text) != bool(answer.tool_calls)


def test_this_task_is_the_one_that_the_user_looks_at_whatever_was_listed() -> None:
    place = {"role": "system", "content": f"## The user looks at the task Sell the fridge\n- Id: {SELL['id']}\n"}

    answer = ask(place, build_user("list my tasks"), TASK_LIST, build_user("Tell me about this task"))

    assert get_exec(answer)[1]["task_id"] == SELL["id"]
