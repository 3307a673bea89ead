"""The shipped scripts: ten suggestions, each with a plan, and only placeholders that mean something."""

import re

import pytest

from chat.scripted_model.dates import read_days
from chat.scripted_model.outcomes import TOOL_NAME_BY_OP
from chat.scripted_model.scripts import Script, ScriptStep, find_script, load_scripts, plan_script

SCRIPTS = {script.title: script for script in load_scripts()}


def list_steps(script: Script) -> list[ScriptStep]:
    """Return the calls of a script."""
    return [one for step in script.steps for one in (step.together or (step,))]


@pytest.mark.parametrize("title", SCRIPTS)
def test_suggestion_finds_its_own_script(title: str) -> None:
    script = SCRIPTS[title]

    assert find_script(script.message) is script
    assert find_script(f"  {script.message.upper()} ") is script


@pytest.mark.parametrize("title", SCRIPTS)
def test_script_begins_with_a_call(title: str) -> None:
    assert next(plan_script(SCRIPTS[title], read_days("")))


@pytest.mark.parametrize("title", SCRIPTS)
def test_script_runs_known_ops_and_names_its_results(title: str) -> None:
    script = SCRIPTS[title]
    steps = list_steps(script)

    assert all(step.help or step.run in TOOL_NAME_BY_OP for step in steps)
    names = {step.name for step in steps} | {"days", "place"}
    used = re.findall(r"\{([a-z_]+)(?:\.[a-z_]+)?\}", f"{script.answer} {[step.args for step in steps]}")
    assert set(used) <= names
    assert {step.unless for step in steps} - {""} <= names


@pytest.mark.parametrize("message", ["tell me more about the task “Order the worktop”", "create a project", "my tasks"])
def test_other_message_has_no_script(message: str) -> None:
    assert find_script(message) is None
