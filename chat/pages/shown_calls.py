"""Tool calls as the page shows them: cards. static/chat/card.js does the same for calls that are streamed."""

import json
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any

from chat.gateway import envelopes
from chat.models import ToolCall
from chat.turns import headlines, tool_plan, wording
from core.llm import StreamedCall

Status = ToolCall.Status

STATUS_LABELS = {
    Status.START: "Running",
    Status.SUCCESS: "Done",
    Status.ERROR: "Failed",
    Status.CONFIRM: "Needs your approval",
}
NEEDS_USER, NEEDS_ANSWER = "Needs you", "Needs your answer"
LEFT_UNDONE = "You continued without this. Nothing was done."


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
    question: wording.Question | None
    is_for_user: bool
    is_empty: bool
    link: str  # where the user does what the call needs, if there is such a page


def show_call(call: ToolCall, *, is_waiting: bool, zone: tzinfo) -> ShownCall:
    """Return the card of a call. `is_waiting`: the user may still agree to it."""
    answer = call.envelope
    is_declined = answer is not None and envelopes.get_reason(answer) == "declined"
    is_undone = is_declined or (call.status == Status.CONFIRM and not is_waiting)
    action = envelopes.get_user_action(answer) if answer is not None else None
    planned = tool_plan.plan_call(StreamedCall(call.call_id, call.name, call.args))
    question = wording.build_question(answer) if answer and is_waiting and call.status == Status.CONFIRM else None
    label = _label_status(Status(call.status), is_undone=is_undone, is_for_user=action is not None)
    return ShownCall(
        id=str(call.pk),
        name=call.name,
        op=call.op or call.name,
        status="undone" if is_undone else call.status,
        label=NEEDS_ANSWER if question and question.is_input else label,
        headline=LEFT_UNDONE if is_undone and not is_declined else headlines.build_headline(planned.body, answer, zone),
        duration=format_duration(call.duration_ms),
        args=to_json(planned.body if planned.problem is None else call.args),
        envelope=to_json(answer) if answer is not None else "",
        question=question,
        is_for_user=action is not None,
        is_empty=headlines.is_empty(answer),
        link=action.url if action else "",
    )


def _label_status(status: Status, *, is_undone: bool, is_for_user: bool) -> str:
    if is_undone:
        return "Not done"
    return NEEDS_USER if is_for_user and status == Status.ERROR else STATUS_LABELS[status]


def format_duration(milliseconds: int | None) -> str:
    """Return a duration as text, empty for None."""
    if milliseconds is None:
        return ""
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def to_json(value: Any) -> str:
    """Return JSON to read. A text stays as it is."""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
