"""The messages of a request, read as turns: what the user said, what was called, what was answered."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from chat.models import ATTACHED
from chat.scripted_model.outcomes import ScriptedOutcome, read_outcomes

_SENT = re.compile(r"\n\n\[Sent [^\]\n]{1,60}\]\Z")  # the time that the chat adds to the last message
_PROJECT = re.compile(r"\bThe user looks at the project ([^\n]{1,200})\n- Id: ([^\s]{1,36})")
_TASK = re.compile(
    r"\bThe user looks at the task ([^\n]{1,200})\n- Id: ([^\s]{1,36})\n(?:- (?!Project:)[^\n]*\n)*"
    r"(?:- Project: ([^\n]{1,200}) ([0-9a-f-]{36}|#t\d{1,6})\b)?"
)


@dataclass(slots=True)
class ScriptedTurn:
    """One message of the user, the outcomes of the calls that followed it, and the text of the answer so far."""

    message: str
    outcomes: list[ScriptedOutcome] = field(default_factory=list)
    text: str = ""


@dataclass(frozen=True, slots=True)
class ScriptedConversation:
    """A conversation up to the turn to answer. There is always a turn, if only an empty one."""

    system: str
    turns: list[ScriptedTurn]

    @property
    def project(self) -> tuple[str, str] | None:
        """Name and id of the project, or of the task's project, that the user looks at, if the system prompt says it.

        Searches and lists without a project are of this one, because the chat sends it with each call.
        """
        if match := _PROJECT.search(self.system):
            return match[1], match[2]
        match = _TASK.search(self.system)
        return (match[3], match[4]) if match and match[4] else None

    @property
    def task(self) -> tuple[str, str] | None:
        """Name and id of the task that the user looks at, if the system prompt says it."""
        match = _TASK.search(self.system)
        return (match[1], match[2]) if match else None

    @property
    def current(self) -> ScriptedTurn:
        return self.turns[-1]

    @property
    def earlier(self) -> list[ScriptedTurn]:
        return self.turns[:-1]

    @property
    def last_text(self) -> str:
        """The model's previous answer to the user."""
        return self.turns[-2].text if len(self.turns) > 1 else ""


def read_conversation(messages: list[dict[str, Any]]) -> ScriptedConversation:
    """Read the messages of Chat Completions. What has another form than expected is left out."""
    system: list[str] = []
    turns: list[ScriptedTurn] = []
    results = _collect_results(messages)
    for message in messages:
        role, text = message.get("role"), _read_text(message)
        if role in ("system", "developer"):
            system.append(text)
        elif role == "user":
            written = _SENT.sub("", text).partition(f"\n\n{ATTACHED}\n")[0]  # the scripts take no files
            turns.append(ScriptedTurn(written))
        elif role == "assistant" and turns:
            turns[-1].text = text or turns[-1].text
            turns[-1].outcomes += _read_calls(message.get("tool_calls"), results)
    return ScriptedConversation("\n".join(system), turns or [ScriptedTurn("")])


def _collect_results(messages: list[dict[str, Any]]) -> dict[str, str]:
    """Return tool messages by the id of their call. After a confirmation there may be two: the last counts."""
    return {
        str(message.get("tool_call_id")): _read_text(message) for message in messages if message.get("role") == "tool"
    }


def _read_calls(calls: Any, results: dict[str, str]) -> list[ScriptedOutcome]:
    outcomes: list[ScriptedOutcome] = []
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            arguments = _parse_arguments(function.get("arguments"))
            outcomes += read_outcomes(str(function.get("name")), arguments, results.get(str(call.get("id"))))
    return outcomes


def _parse_arguments(text: Any) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
