"""manage.py evaluate_surfaces, with the scripted model and a gateway process of its own."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmarks.surfaces.adversary import Habit


@pytest.mark.thorough
@pytest.mark.server
def test_evaluation_with_the_scripted_model_writes_tables_and_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_FAST_DOLLARS_PER_MILLION_INPUT_TOKENS", "0.15")
    file, output = tmp_path / "evaluation.json", StringIO()

    call_command(
        "evaluate_surfaces",
        tasks="mark_done,delete_declined",
        surfaces="gateway,legacy",
        repeats=1,
        output=str(file),
        stdout=output,
    )

    data = json.loads(file.read_text())
    assert (data["model"], data["repeats"], data["stopped"]) == ("scripted", 1, "")
    assert len(data["release"]) == 64
    sessions = {(each["surface"], each["task"]): each for each in data["sessions"]}
    assert len(sessions) == 4
    assert all(each["success"] for each in sessions.values()), data["sessions"]
    done, declined = sessions["gateway", "mark_done"], sessions["gateway", "delete_declined"]
    # A search, the update, the answer: three requests and two calls.
    assert (done["rounds"], done["calls"], done["repairs"]) == (3, 2, 0)
    assert done["seconds"] > 0
    assert done["dollars"] == pytest.approx(done["input_tokens"] * 0.15 / 1_000_000)
    assert sessions["legacy", "mark_done"]["input_tokens"] > 3 * done["input_tokens"]
    assert [turn["finish"] for turn in declined["turns"]] == ["ask", "stop"]
    assert [each["surface"] for each in data["surfaces"]] == ["gateway", "legacy"]
    table = output.getvalue()
    assert "| gateway | 100% [" in table
    assert "| mark_done | update | 1/1 | 1/1 |" in table


@pytest.mark.thorough
@pytest.mark.server
def test_chat_bears_the_habits_of_models(tmp_path: Path) -> None:
    file = tmp_path / "evaluation.json"

    call_command(
        "evaluate_surfaces",
        model="adversary",
        tasks="create_task,delete_approved",
        surfaces="gateway,legacy",
        repeats=1,
        output=str(file),
        stdout=StringIO(),
    )

    data = json.loads(file.read_text())
    failed = [(each["habit"], each["surface"], each["problems"]) for each in data["sessions"] if not each["success"]]
    assert not failed
    assert {each["habit"] for each in data["sessions"]} == set(Habit)
    assert data["repeated_requests"] == dict.fromkeys(Habit, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"surfaces": "native"}, "tool search"),
        ({"tasks": "make_coffee"}, "There is no task 'make_coffee'"),
        ({"repeats": 0}, "at least 1"),
        ({"output": "/nowhere/a.json"}, "no such folder"),
        ({"model": "fast"}, "needs LLM_BASE_URL"),
    ],
)
def test_options_that_cannot_be_run_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("evaluate_surfaces", **options)


@pytest.mark.parametrize(("fast_model", "name"), [("quick", "LLM_FAST_DOLLARS"), ("", "LLM_DOLLARS")])
def test_limit_of_dollars_without_prices_is_refused(settings: Any, fast_model: str, name: str) -> None:
    settings.LLM_BASE_URL, settings.LLM_MODEL, settings.LLM_FAST_MODEL = "http://llm.test/v1", "big", fast_model

    with pytest.raises(CommandError, match=f"needs the prices of the model. Set {name}_PER_MILLION_INPUT_TOKENS"):
        call_command("evaluate_surfaces", model="fast", max_dollars=1.0)
