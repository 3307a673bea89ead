"""The scripted model's answer to a request: a pure function of what a model sees."""

from typing import Any

from chat.scripted_model.answers import Answer
from chat.scripted_model.conversation import Conversation, read_conversation
from chat.scripted_model.dates import Days, read_days
from chat.scripted_model.op_names import BATCH, EXEC, HELP, read_tool_names
from chat.scripted_model.plans import Plan, play
from chat.scripted_model.rules import plan_free_message
from chat.scripted_model.rules.request import get_place
from chat.scripted_model.scripts import find_script, plan_script

NO_TOOLS = "I could not finish: I am the scripted model, without AI, and this request has no tools to call."
PLACE_GONE = "The user looks at a project that does not exist"
NEW_CONVERSATION = "This conversation is about a project that is gone. Start a new one to ask about others."
ALL_TOOLS = frozenset({HELP, EXEC, BATCH})


def answer(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Answer:
    """Return the next tool calls of the current turn, or its text."""
    conversation = read_conversation(messages)
    tool_names = read_tool_names(tools)
    days = read_days(conversation.system)
    plan = _choose_plan(conversation, days)
    reply = play(plan, conversation.current.outcomes, tool_names or ALL_TOOLS)
    if reply.tool_calls and not tool_names:
        return Answer(NO_TOOLS)  # such as in the last round of a turn
    text = reply.text
    if PLACE_GONE in conversation.system and any(not outcome.ok for outcome in conversation.current.outcomes):
        text = f"{text}\n\n{NEW_CONVERSATION}" if text else ""
    return Answer(days.format_times(text), reply.tool_calls)


def _choose_plan(conversation: Conversation, days: Days) -> Plan:
    if script := find_script(conversation.current.message):
        return plan_script(script, days, place=get_place(conversation))
    return plan_free_message(conversation, days)
