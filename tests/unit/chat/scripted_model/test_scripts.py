"""The shipped scripts: ten suggestions, each with a plan, and only placeholders that mean something."""

import re

from chat.scripted_model.dates import read_days
from chat.scripted_model.outcomes import TOOL_NAME_BY_OP
from chat.scripted_model.scripts import Script, find_script, load_scripts, plan_script
from tests.support.loops import for_each

SCRIPTS = load_scripts()


@for_each("script", SCRIPTS)
def test_script_is_found_by_its_message_runs_known_ops_and_names_its_results(script: Script) -> None:
    steps = [one for step in script.steps for one in (step.together or (step,))]

    assert find_script(script.message) is find_script(f"  {script.message.upper()} ") is script
    assert next(plan_script(script, read_days("")))
    assert all(step.help or step.run in TOOL_NAME_BY_OP for step in steps)
    names = {step.name for step in steps} | {"days", "place"}
    used = re.findall(r"\{([a-z_]+)(?:\.[a-z_]+)?\}", f"{script.answer} {[step.args for step in steps]}")
    assert set(used) <= names
    assert {step.unless for step in steps} - {""} <= names


@for_each("message", ["tell me more about the task “Order the worktop”", "create a project", "my tasks"])
def test_other_message_has_no_script(message: str) -> None:
    assert find_script(message) is None
