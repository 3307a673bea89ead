"""What the planner does after a call that failed, waits for confirmation, or whose tool is missing."""

import json

import pytest

from chat.scripted_model.scripts import SUGGESTIONS
from tests.unit.chat.scripted_model.requests import (
    BUY,
    SELL,
    ask,
    build_assistant,
    build_exec,
    build_failure,
    build_round,
    build_success,
    build_tools,
    build_user,
    get_exec,
)

REFUSED = build_failure(
    "onto.task.update",
    "The args are invalid.",
    field_errors=[
        {"path": "/status", "code": "unknown_argument", "message": "Unknown argument status; send state_key."}
    ],
    retry_with={"op": "onto.task.update", "args": {"task_id": BUY["id"], "state_key": "done"}},
)


SEARCH = build_exec("onto.task.search", build_success("onto.task.search", tasks=[BUY], total=1))
MARK_DONE = [build_user("mark the task “Buy paint” as done"), *SEARCH]
DELETE = [build_user("delete the task “Buy paint”"), *SEARCH]
PENDING = build_failure("onto.task.delete", "It needs agreement.", reason="confirmation_required")


def test_refused_call_is_repaired_by_exactly_the_corrected_call() -> None:
    messages = [*MARK_DONE, *build_exec("onto.task.update", REFUSED, task_id=BUY["id"], status="done")]
    note = {"role": "system", "content": "The call failed. Send retry_with, and no made-up ids."}

    assert get_exec(ask(messages)) == ("onto.task.update", {"task_id": BUY["id"], "state_key": "done"})
    assert get_exec(ask(messages, note)) == get_exec(ask(messages))  # a note of the chat is no message of the user

    done = build_success("onto.task.update", task=BUY, message="Changed “Buy paint”: state_key todo → done.")
    text = ask(messages, build_exec("onto.task.update", done, task_id=BUY["id"])).text
    assert text.startswith("I first used wrong names and corrected them: Unknown argument status; send state_key.")
    assert text.endswith("Changed “Buy paint”: state_key todo → done.")


def test_corrected_call_with_a_tool_name_is_the_same_call() -> None:
    named = json.loads(
        json.dumps(REFUSED).replace('"op": "onto.task.update", "args"', '"op": "update_onto_task", "args"')
    )
    messages = [*MARK_DONE, *build_exec("onto.task.update", named, task_id=BUY["id"], status="done")]

    assert get_exec(ask(messages)) == ("onto.task.update", {"task_id": BUY["id"], "state_key": "done"})


def test_question_after_a_call_that_waits_is_a_message_of_the_user() -> None:
    messages = [DELETE[0], *build_exec("onto.task.delete", PENDING)]

    no_op = build_round("tool_help", {"query": "x"}, {"type": "search", "items": []}, call_id="help")
    assert "I did not understand that." in ask(messages, build_user("why did you invent a tool call?"), no_op).text


def test_corrected_call_that_fails_is_not_sent_again() -> None:
    refused = build_exec("onto.task.update", REFUSED) + build_exec("onto.task.update", REFUSED, again=True)

    answer = ask(MARK_DONE, refused)

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

    done = "Done before that:\n\n- Created the task “Try the confirmation”."
    assert ask(messages).text == f"`onto.task.delete` failed: It is locked.\n\n{done}"


@pytest.mark.parametrize("appended", ["same id", "new call"])
def test_confirmed_result_is_reported_however_the_chat_appends_it(appended: str) -> None:
    messages = [*DELETE, *build_exec("onto.task.delete", PENDING, task_id=BUY["id"])]

    assert "needs your confirmation" in ask(messages).text
    assert ask(messages).tool_calls == ()

    done = build_success("onto.task.delete", message="Deleted it.")
    confirmed = build_exec("onto.task.delete", done, task_id=BUY["id"])
    messages += confirmed[1:] if appended == "same id" else confirmed
    assert ask(messages).text == "Deleted it."


def test_declined_call_is_said_not_to_have_run() -> None:
    declined = build_failure("onto.task.delete", "The user declined.", reason="declined")

    text = ask(DELETE, build_exec("onto.task.delete", declined)).text

    assert text == "You did not agree, so `onto.task.delete` did not run.\n\nNothing was changed."


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


def test_tool_that_was_loaded_late_is_not_missing_in_the_turn_after_the_agreement() -> None:
    found = build_round("search_onto_tasks", {}, build_success("onto.task.search", tasks=[BUY]), call_id="a")
    missing = build_failure("delete_onto_task", "It was not loaded. It is now.", reason="not_run")
    done = build_success("onto.task.delete", message="Deleted it.")
    calls = [build_round("delete_onto_task", {}, each, call_id=str(at)) for at, each in enumerate((missing, done))]

    assert ask(DELETE[0], found, *calls, tools=build_tools("search_onto_tasks")).text == "Deleted it."


def test_write_is_not_repeated_when_a_search_before_it_is() -> None:
    """After a confirmation the earlier turns may be shorter, so that the row is searched for again."""
    done = build_exec("onto.task.delete", build_success("onto.task.delete", message="Deleted “Sell the fridge”."))
    question = build_assistant(
        "2 tasks are named “x”. Which of these do you mean?\n\n1. **Buy paint**\n2. **Sell the fridge**"
    )
    messages = [build_user("delete the task x"), question, build_user("the second one"), *done]

    assert get_exec(ask(messages))[0] == "onto.task.search"

    search = build_exec("onto.task.search", build_success("onto.task.search", tasks=[SELL], total=1))
    assert ask(messages, search).text == "Deleted “Sell the fridge”."


def test_user_is_told_what_to_connect_with_the_link() -> None:
    details = {"requires_user_action": {"url": "https://gateway.example/c"}, "how_to_connect": "Sign in to CRM."}
    refused = build_failure("onto.task.update", "Give them the link.", reason="sign_in_required", **details)

    text = ask(MARK_DONE, build_exec("onto.task.update", refused)).text

    assert "Sign in to CRM. [Connect](https://gateway.example/c)" in text
