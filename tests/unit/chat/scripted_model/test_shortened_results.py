"""The planner reads results in any form: shortened by the chat, left out, or malformed."""

import json

import pytest

from chat.scripted_model.scripts import SUGGESTIONS
from tests.unit.chat.scripted_model.requests import (
    BUY,
    ask,
    build_assistant,
    build_exec,
    build_round,
    build_success,
    build_user,
    get_exec,
)


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

    answer = ask(build_user("my tasks"), build_exec("onto.task.list", text))
    assert answer.text.startswith("40 tasks:\n\n- **Buy paint**")


def test_row_whose_result_was_left_out_is_found_again_by_its_title() -> None:
    cut = build_exec("onto.task.list", {"op": "onto.task.list", "ok": True, "shown": "nothing; call again for less"})
    shown = [build_user("my tasks"), *cut, build_assistant("2 tasks:\n\n- **Buy paint** — todo\n- **Sell the fridge**")]

    answer = ask(shown, build_user("tell me more about the second one"))

    assert get_exec(answer) == ("onto.search", {"query": "Sell the fridge", "limit": 5})


def test_search_that_was_left_out_later_is_not_repeated() -> None:
    cut = {"op": "onto.task.search", "ok": True, "shown": "nothing; call again for less at once"}
    done = build_success("onto.task.update", id=BUY["id"], title="Buy paint", message="Changed “Buy paint”.")
    messages = [build_user("mark the task “Buy paint” as done"), *build_exec("onto.task.search", cut)]

    assert ask(messages, build_exec("onto.task.update", done)).text == "Changed “Buy paint”."


def test_row_of_another_project_is_not_lost_when_its_searches_were_shortened() -> None:
    cut = {"op": "onto.project.list", "ok": True, "result": {"projects": [{"id": BUY["id"], "name": "Roof garden"}]}}
    place = {
        "role": "system",
        "content": f"## The user looks at the project Roof garden\n- Id: {BUY['id']}\n- State: x",
    }
    messages = [place, build_user("mark the task “Sell the fridge” as done")]
    messages += build_exec("onto.task.search", build_success("onto.task.search", tasks=[], total=0))
    messages += build_exec("onto.project.list", {**cut, "shown": "1 of 6; call again for less at once"})
    done = build_success("onto.task.update", message="Changed “Sell the fridge”.")

    assert ask(messages, build_exec("onto.task.update", done)).text == "Changed “Sell the fridge”."


def test_script_goes_on_after_an_earlier_result_was_left_out() -> None:
    cut = {"op": "onto.project.search", "ok": True, "shown": "nothing; call again for less at once"}
    messages = [build_user("What could go wrong in the Website relaunch?"), *build_exec("onto.project.search", cut)]
    messages += build_round("tool_help", {"query": "x"}, {"items": [{"path": "onto.risk.list"}]}, call_id="help")
    risks = build_exec("onto.risk.list", build_success("onto.risk.list", risks=[{"id": "r", "title": "Rain"}], total=1))
    order = [messages[0], *messages[3:], *messages[1:3], *risks]

    assert "has 1 risk:\n\n- **Rain**" in ask(order).text
