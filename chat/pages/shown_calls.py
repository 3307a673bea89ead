"""Tool calls as the page shows them: cards. static/chat/card.js does the same for calls that are streamed."""

import calendar
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chat.gateway import envelopes
from chat.models import ToolCall
from chat.pages import wording
from chat.turns import tool_plan
from core.llm import StreamedCall

Status = ToolCall.Status

MAX_HEADLINE = 140
STATUS_LABELS = {
    Status.START: "Running",
    Status.SUCCESS: "Done",
    Status.ERROR: "Failed",
    Status.CONFIRM: "Needs your approval",
}
NEEDS_USER = "Needs you"
LEFT_UNDONE = "You continued without this. Nothing was done."

MONTHS = dict(zip((f"{number:02}" for number in range(1, 13)), calendar.month_abbr[1:], strict=True))
_TIME = re.compile(r"\d{4}-(\d\d)-(\d\d)T(\d\d:\d\d)(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Question:
    """What the user is asked about a call: what it would do, and the labels of both buttons."""

    text: str
    approve: str
    decline: str


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A card. `question` is there while the call waits for the user."""

    id: str
    name: str
    op: str
    status: str
    label: str
    headline: str
    duration: str
    args: str
    envelope: str
    question: Question | None
    is_for_user: bool
    link: str  # where the user does what the call needs, if there is such a page


def show_call(call: ToolCall, *, is_waiting: bool) -> ShownCall:
    """Return the card of a call. `is_waiting`: the user may still agree to it."""
    answer = call.envelope
    is_undone = call.status == Status.CONFIRM and not is_waiting
    action = envelopes.get_user_action(answer) if answer is not None else None
    planned = tool_plan.plan_call(StreamedCall(call.call_id, call.name, call.args))
    return ShownCall(
        id=str(call.pk),
        name=call.name,
        op=call.op or call.name,
        status="undone" if is_undone else call.status,
        label=_label_status(Status(call.status), is_undone=is_undone, is_for_user=action is not None),
        headline=LEFT_UNDONE if is_undone else build_headline(planned.body, answer),
        duration=format_duration(call.duration_ms),
        args=to_json(planned.body if planned.problem is None else call.args),
        envelope=to_json(answer) if answer is not None else "",
        question=build_question(answer) if answer and is_waiting and call.status == Status.CONFIRM else None,
        is_for_user=action is not None,
        link=action.url if action else "",
    )


def _label_status(status: Status, *, is_undone: bool, is_for_user: bool) -> str:
    if is_undone:
        return "Not done"
    return NEEDS_USER if is_for_user and status == Status.ERROR else STATUS_LABELS[status]


def build_headline(args: Mapping[str, Any], answer: Mapping[str, Any] | None) -> str:
    """Return the line of a closed card: what came back, or what was asked for while nothing has.

    What the user must do is never cut.
    """
    if answer and (action := envelopes.get_user_action(answer)):
        return action.text
    parts = [text for each in envelopes.iter_envelopes(answer) if (text := _read_message(each))] if answer else []
    text = _TIME.sub(_shorten_time, " · ".join(parts) or _describe_args(args))
    return text if len(text) <= MAX_HEADLINE else f"{text[: MAX_HEADLINE - 1]}…"


def build_question(answer: Mapping[str, Any]) -> Question:
    """Return what the user is asked about the first call of an answer that waits for them."""
    waiting = (
        envelopes.get_error(envelope)["details"]
        for envelope in envelopes.iter_envelopes(answer)
        if envelopes.get_reason(envelope) == envelopes.CONFIRMATION_REQUIRED
    )
    confirmation = next(waiting).get("confirmation") or {}
    operation = confirmation.get("operation") or {}
    approve, decline = wording.name_decision(operation)
    action = str(operation.get("action") or "run").replace("_", " ")
    text = f"This would {action} the {wording.describe_row(operation)}."
    return Question(wording.append_args(text, str(confirmation.get("args_text") or "")), approve, decline)


def format_duration(milliseconds: int | None) -> str:
    """Return a duration as text, empty for None."""
    if milliseconds is None:
        return ""
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def to_json(value: Any) -> str:
    """Return JSON to read. A text stays as it is."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _shorten_time(match: re.Match[str]) -> str:
    """Return a time as people write it: 2026-11-25T10:00:00+01:00 as 25 Nov 10:00."""
    month, day, time = match.groups()
    return f"{int(day)} {MONTHS.get(month, month)} {time}"


def _read_message(envelope: Mapping[str, Any]) -> str:
    result = envelope.get("result")
    message = envelopes.get_error(envelope).get("message") or (
        result.get("message") if isinstance(result, Mapping) else ""
    )
    return message if isinstance(message, str) else ""


def _describe_args(args: Mapping[str, Any]) -> str:
    """Return the first text among the arguments that says what a call is about."""
    inner = args.get("args")
    for values in (inner if isinstance(inner, Mapping) else {}, args):
        for name in ("query", "title", "name", "path"):
            if isinstance(values.get(name), str):
                return f"“{values[name]}”"
    return ""
