"""The planner: which calls it makes, and that its answers say only what results say."""

import json
from typing import Any

import pytest

from chat.scripted_model import planner
from chat.scripted_model.answers import Answer, ToolCall
from chat.scripted_model.suggestions import SUGGESTIONS
from tests.unit.chat.scripted_model.requests import (
    SYSTEM,
    build_assistant,
    build_exec,
    build_failure,
    build_round,
    build_success,
    build_task,
    build_tools,
    build_user,
)

BUY, SELL = build_task(1, "Buy paint", priority=1), build_task(2, "Sell the fridge")
TASK_LIST = build_exec("onto.task.list", build_success("onto.task.list", tasks=[BUY, SELL], total=2))
REFUSED = build_failure(
    "onto.task.update",
    "The args are invalid.",
    field_errors=[{"path": "/status", "code": "unknown_argument", "message": "There is no status; send state_key."}],
    retry_with={"op": "onto.task.update", "args": {"task_id": BUY["id"], "state_key": "done"}},
)


def ask(*messages: Any, tools: list[dict[str, Any]] | None = None) -> Answer:
    """Return the answer to a conversation; lists of messages are joined."""
    flat = [SYSTEM]
    for message in messages:
        flat += message if isinstance(message, list) else [message]
    return planner.answer(flat, build_tools() if tools is None else tools)


def get_exec(answer: Answer) -> tuple[str, dict[str, Any]]:
    """Return op and args of the only call of an answer."""
    (call,) = answer.tool_calls
    assert call.name == "tool_exec"
    return call.arguments["op"], call.arguments["args"]


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

    search = build_exec("onto.task.search", build_success("onto.task.search", tasks=[BUY], total=1))
    assert get_exec(ask(question, search)) == ("onto.task.get", {"task_id": BUY["id"], "max_chars": 1500})


def test_unknown_title_is_said_to_be_unknown() -> None:
    search = build_exec("onto.task.search", build_success("onto.task.search", tasks=[], total=0))

    assert ask(build_user("delete the task “Fly”"), search).text == "I found no task named “Fly”."


def test_refused_call_is_repaired_by_exactly_the_corrected_call() -> None:
    messages = [build_user("mark the task “Buy paint” as done")]
    messages += build_exec("onto.task.search", build_success("onto.task.search", tasks=[BUY], total=1))
    messages += build_exec("onto.task.update", REFUSED, task_id=BUY["id"], status="done")

    assert get_exec(ask(messages)) == ("onto.task.update", {"task_id": BUY["id"], "state_key": "done"})

    done = build_success("onto.task.update", task=BUY, message="Changed “Buy paint”: state_key todo → done.")
    text = ask(messages, build_exec("onto.task.update", done, task_id=BUY["id"])).text
    assert text.startswith("The first call was refused: There is no status; send state_key. I sent the corrected call.")
    assert text.endswith("Changed “Buy paint”: state_key todo → done.")


def test_remark_of_the_chat_is_no_message_of_the_user() -> None:
    messages = [build_user("mark the task “Buy paint” as done")]
    messages += build_exec("onto.task.search", build_success("onto.task.search", tasks=[BUY], total=1))
    messages += build_exec("onto.task.update", REFUSED, task_id=BUY["id"], status="done")

    remark = build_user("The call failed. Read help_path, and send no made-up ids.")

    assert get_exec(ask(messages, remark)) == get_exec(ask(messages))


def test_corrected_call_that_fails_is_not_sent_again() -> None:
    messages = [build_user("mark the task “Buy paint” as done")]
    messages += build_exec("onto.task.search", build_success("onto.task.search", tasks=[BUY], total=1))
    messages += build_exec("onto.task.update", REFUSED) + build_exec("onto.task.update", REFUSED, again=True)

    answer = ask(messages)

    assert answer.tool_calls == ()
    assert "`onto.task.update` failed" in answer.text
    assert "Nothing was changed." in answer.text


def test_failure_names_what_was_written_before_it() -> None:
    project = {"id": "p1", "name": "Website relaunch"}
    messages = [build_user(SUGGESTIONS[6].text)]
    messages += build_exec("onto.task.search", build_success("onto.task.search", tasks=[], total=0))
    messages += build_exec("onto.project.search", build_success("onto.project.search", projects=[project]))
    created = build_success("onto.task.create", task=BUY, message="Created the task “Try the confirmation”.")
    messages += build_exec("onto.task.create", created)
    messages += build_exec("onto.task.delete", build_failure("onto.task.delete", "It is locked."))

    text = ask(messages).text

    assert (
        text
        == "`onto.task.delete` failed: It is locked.\n\nDone before that:\n\n- Created the task “Try the confirmation”."
    )


@pytest.mark.parametrize("appended", ["same id", "new call"])
def test_confirmed_result_is_reported_however_the_chat_appends_it(appended: str) -> None:
    pending = build_failure("onto.task.delete", "It needs agreement.", reason="confirmation_required")
    messages = [build_user("delete the task “Buy paint”")]
    messages += build_exec("onto.task.search", build_success("onto.task.search", tasks=[BUY], total=1))
    messages += build_exec("onto.task.delete", pending, task_id=BUY["id"])

    assert "needs your confirmation" in ask(messages).text
    assert ask(messages).tool_calls == ()

    confirmed = build_exec(
        "onto.task.delete", build_success("onto.task.delete", message="Deleted it."), task_id=BUY["id"]
    )
    messages += confirmed[1:] if appended == "same id" else confirmed
    assert ask(messages).text == "Deleted it."


def test_declined_call_is_said_not_to_have_run() -> None:
    messages = [build_user("delete the task “Buy paint”")]
    messages += build_exec("onto.task.search", build_success("onto.task.search", tasks=[BUY], total=1))
    messages += build_exec(
        "onto.task.delete", build_failure("onto.task.delete", "The user declined.", reason="declined")
    )

    assert ask(messages).text == "You did not agree, so `onto.task.delete` did not run.\n\nNothing was changed."


def test_typed_tools_are_called_by_their_names() -> None:
    tools = build_tools("list_onto_tasks", "search_onto_tasks")

    answer = ask(build_user("blocked tasks"), tools=tools)

    assert answer.tool_calls == (ToolCall("list_onto_tasks", {"state_key": ["blocked"], "limit": 8}),)


def test_pinned_tool_is_preferred_to_exec() -> None:
    tools = build_tools("tool_help", "tool_exec", "tool_batch", "list_onto_tasks")

    assert ask(build_user("my tasks"), tools=tools).tool_calls[0].name == "list_onto_tasks"
    assert ask(build_user("my risks"), tools=tools).tool_calls[0].name == "tool_exec"


def test_tool_that_is_not_offered_is_called_once_and_again_when_it_is() -> None:
    question = build_user("list risks")

    first = ask(question, tools=build_tools("search_ontology"))
    assert first.tool_calls[0].name == "list_onto_risks"

    refused = build_round("list_onto_risks", {}, "There is no tool list_onto_risks.")
    text = ask(question, refused, tools=build_tools("search_ontology")).text
    assert text.startswith("I cannot do that here: `list_onto_risks` is not among my tools.")

    again = ask(question, refused, tools=build_tools("search_ontology", "list_onto_risks"))
    assert again.tool_calls == first.tool_calls
    refused_twice = refused + build_round("list_onto_risks", {}, "There is no tool list_onto_risks.")
    assert ask(question, refused_twice, tools=build_tools("list_onto_risks")).tool_calls == ()


def test_parallel_reads_are_one_batch_or_several_calls() -> None:
    messages = [build_user("Give me an overview of the Website relaunch.")]
    project = {"id": "p1", "name": "Website relaunch"}

    messages += build_exec("onto.project.search", build_success("onto.project.search", projects=[project]))
    (batch,) = ask(messages).tool_calls
    assert batch.name == "tool_batch"
    assert [entry["op"] for entry in batch.arguments["ops"]] == [
        "onto.project.get",
        "onto.task.list",
        "onto.milestone.list",
    ]
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


def test_request_without_tools_calls_none() -> None:
    answer = ask(build_user("my tasks"), tools=[])

    assert answer.tool_calls == ()
    assert "scripted model" in answer.text


@pytest.mark.parametrize(
    "result",
    [
        "", "null", "[]", "not json", '{"ok": true', '{"ok": true}', '{"ok": true, "result": []}', '{"ok": "yes"}',
        '{"ok": true, "result": {"tasks": "none"}}', '{"ok": true, "result": {"tasks": [null, 1, {"id": 5}]}}',
        '{"ok": false}', '{"ok": false, "error": "broken"}', '{"ok": false, "error": {"details": []}}',
        '{"ok": false, "error": {"details": {"field_errors": [1], "retry_with": "x"}}}', "[" * 5_000,
    ],
)  # fmt: skip
def test_result_in_any_form_gets_a_text(result: str) -> None:
    for message, op in (
        ("my tasks", "onto.task.list"),
        (SUGGESTIONS[0].text, "onto.task.list"),
        ("plans", "onto.plan.list"),
    ):
        answer = ask(build_user(message), build_exec(op, result))

        assert answer.text, (message, result)


def test_shortened_result_is_read_with_the_remark_behind_it() -> None:
    text = json.dumps(build_success("onto.task.list", tasks=[BUY], total=40)) + "\n… 39 rows left out; use cursor."

    assert ask(build_user("my tasks"), build_exec("onto.task.list", text)).text.startswith(
        "40 tasks:\n\n- **Buy paint**"
    )


def test_row_whose_result_was_left_out_is_found_again_by_its_title() -> None:
    cut = build_exec("onto.task.list", {"op": "onto.task.list", "ok": True, "shown": "nothing; call again for less"})
    shown = [build_user("my tasks"), *cut, build_assistant("2 tasks:\n\n- **Buy paint** — todo\n- **Sell the fridge**")]

    answer = ask(shown, build_user("tell me more about the second one"))

    assert get_exec(answer) == ("onto.search", {"query": "Sell the fridge", "limit": 5})


def test_heading_in_bold_is_no_row_of_a_list() -> None:
    text = "2 tasks in **Buy paint**:\n\n- **Sell the fridge** — todo\n- **Buy paint** — todo"

    answer = ask(
        build_user("my tasks"), TASK_LIST, build_assistant(text), build_user("tell me more about the first one")
    )

    assert get_exec(answer)[1]["task_id"] == SELL["id"]


def test_search_that_was_left_out_later_is_not_repeated() -> None:
    cut = {"op": "onto.task.search", "ok": True, "shown": "nothing; call again for less at once"}
    done = build_success("onto.task.update", id=BUY["id"], title="Buy paint", message="Changed “Buy paint”.")
    messages = [build_user("mark the task “Buy paint” as done"), *build_exec("onto.task.search", cut)]

    assert ask(messages, build_exec("onto.task.update", done)).text == "Changed “Buy paint”."


def test_script_goes_on_after_an_earlier_result_was_left_out() -> None:
    cut = {"op": "onto.project.search", "ok": True, "shown": "nothing; call again for less at once"}
    messages = [build_user("What could go wrong in the Website relaunch?"), *build_exec("onto.project.search", cut)]
    messages += build_round("tool_help", {"query": "x"}, {"items": []}, call_id="help")
    risks = build_exec("onto.risk.list", build_success("onto.risk.list", risks=[{"id": "r", "title": "Rain"}], total=1))
    order = [messages[0], *messages[3:], *messages[1:3], *risks]

    assert "has 1 recorded risks:\n\n- **Rain**" in ask(order).text


def test_task_is_created_in_the_project_that_the_user_looks_at() -> None:
    place = {
        "role": "system",
        "content": f"## The user looks at the project Roof garden\n- Id: {BUY['id']}\n- State: x",
    }

    answer = ask(place, build_user("add a task “Sow tomatoes”"))

    assert get_exec(answer) == ("onto.task.create", {"project_id": BUY["id"], "title": "Sow tomatoes"})


def test_last_round_without_tools_says_what_results_say() -> None:
    assert ask(build_user("my tasks"), TASK_LIST, tools=[]).text.startswith("2 tasks:")
