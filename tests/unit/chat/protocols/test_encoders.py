"""A turn in the words of AG-UI and of the AI SDK. tests/services/test_chat_clients.py has their official clients."""

from typing import Any

from chat.api.ag_ui import AgUiEncoder
from chat.api.ai_sdk import AiSdkEncoder

CALL = {"id": "c1", "name": "tool_exec", "op": "onto.task.delete", "args": {"op": "onto.task.delete"}}
OK = {"op": "onto.task.delete", "ok": True, "result": {}}
ASKED = {"operation": {"entity": "task", "action": "delete"}}
CONFIRM = {"ok": False, "error": {"details": {"reason": "confirmation_required", "confirmation": ASKED}}}
DECLINED = {"ok": False, "error": {"message": "No.", "details": {"reason": "declined"}}}

TURN: list[tuple[str, dict[str, Any]]] = [
    ("session", {"session_id": "s", "message_id": "m"}),
    ("text", {"delta": "I "}),
    ("text", {"delta": "delete.", "block": {"html": "<p>I delete.</p>", "rest": ""}}),
    ("text", {"delta": "", "block": {"html": "<p></p>", "rest": ""}}),
    ("tool", {**CALL, "status": "start"}),
    ("operation", {"entity": "task", "action": "delete", "status": "start"}),
    ("tool", {**CALL, "status": "success", "envelope": OK}),
    ("text", {"delta": "Done."}),
    ("usage", {"input": 5, "output": 2, "dollars": 0.1}),
    ("done", {"message_id": "m", "reason": "stop", "written": []}),
]


def encode(encoder: Any, events: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    return [frame for type, data in events for frame in encoder.encode(type, data)]


def list_types(frames: list[dict[str, Any]]) -> list[str]:
    return [frame["type"] for frame in frames]


def test_turn_is_a_run_of_ag_ui() -> None:
    frames = encode(AgUiEncoder(thread_id="t", run_id="r"), TURN)

    types = """
    RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END TOOL_CALL_START
    TOOL_CALL_ARGS TOOL_CALL_END CUSTOM TOOL_CALL_RESULT TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT
    TEXT_MESSAGE_END RUN_FINISHED
    """
    assert list_types(frames) == types.split()
    assert frames[1]["messageId"] != frames[10]["messageId"]
    assert frames[-1] == {
        "type": "RUN_FINISHED",
        "threadId": "t",
        "runId": "r",
        "outcome": {"type": "success"},
        "result": {"reason": "stop", "written": []},
        "usage": [{"inputTokens": 5, "outputTokens": 2, "totalTokens": 7}],
    }


def test_other_ends_of_a_run_than_success() -> None:
    encoder = AgUiEncoder(thread_id="t", run_id="r")
    events = [("tool", {**CALL, "status": "confirm", "envelope": CONFIRM}), ("done", {"reason": "ask", "written": []})]

    [waits] = encode(encoder, events)
    [cancelled] = encode(encoder, [("done", {"reason": "cancelled"})])
    [failed] = encode(encoder, [("error", {"code": "model_failed", "message": "No.", "retryable": True})])

    (interrupt,) = waits["outcome"]["interrupts"]
    assert (interrupt["id"], interrupt["toolCallId"]) == ("c1", "c1")
    assert interrupt["message"] == "Delete the task?"
    assert cancelled["outcome"] == {"type": "cancelled"}
    assert failed == {"type": "RUN_ERROR", "message": "No.", "code": "model_failed"}


def test_turn_is_a_message_of_the_ai_sdk() -> None:
    frames = encode(AiSdkEncoder(), TURN)

    types = """
    start data-session text-start text-delta text-delta text-end tool-input-available data-operation
    tool-output-available text-start text-delta text-end data-usage finish
    """
    assert list_types(frames) == types.split()
    assert frames[0]["messageId"] == "m"
    assert frames[-1]["finishReason"] == "stop"


def test_approval_of_the_ai_sdk_and_what_follows_it() -> None:
    encoder = AiSdkEncoder(message_id="theirs")
    calls = [
        ("tool", {**CALL, "status": "confirm", "envelope": CONFIRM}),
        ("tool", {**CALL, "status": "error", "envelope": DECLINED}),
        ("tool", {**CALL, "status": "error", "envelope": {"error": {"message": "Broken."}}}),
        ("done", {"reason": "cancelled"}),
        ("error", {"message": "No.", "code": "internal"}),
    ]

    frames = encode(encoder, calls)

    assert list_types(frames) == ["tool-approval-request", "tool-output-denied", "tool-output-error", "abort", "error"]
    assert encode(encoder, TURN[:1])[0]["messageId"] == "theirs"
    assert encoder.frame({"type": "a"}) + encoder.end() == b'data: {"type":"a"}\n\ndata: [DONE]\n\n'


def test_failure_that_needs_the_user_gives_them_the_link() -> None:
    details = {"requires_user_action": {"url": "https://gateway.example/c"}, "how_to_connect": "Sign in to CRM."}
    failed = {"ok": False, "error": {"message": "For the model.", "details": details}}

    [frame] = encode(AiSdkEncoder(message_id="theirs"), [("tool", {**CALL, "status": "error", "envelope": failed})])

    assert frame["errorText"] == "Sign in to CRM. https://gateway.example/c"


REASONED: list[tuple[str, dict[str, Any]]] = [
    TURN[0],
    ("reasoning", {"delta": "Which "}),
    ("reasoning", {"delta": "task?"}),
    ("text", {"delta": "This one."}),
    ("reasoning", {"delta": "\n\nSure?"}),
    ("tool", {**CALL, "status": "start"}),
]


def test_reasoning_is_framed_apart_from_text() -> None:
    ag_ui = encode(AgUiEncoder(thread_id="t", run_id="r"), REASONED)
    ai_sdk = encode(AiSdkEncoder(), REASONED)

    types = """
    RUN_STARTED REASONING_START REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT REASONING_MESSAGE_CONTENT
    REASONING_MESSAGE_END REASONING_END TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END REASONING_START
    REASONING_MESSAGE_START REASONING_MESSAGE_CONTENT REASONING_MESSAGE_END REASONING_END TOOL_CALL_START
    TOOL_CALL_ARGS TOOL_CALL_END
    """
    assert list_types(ag_ui) == types.split()
    assert len({frame["messageId"] for frame in ag_ui if "messageId" in frame}) == 3
    assert list_types(ai_sdk)[2:] == [
        "reasoning-start",
        "reasoning-delta",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-end",
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "tool-input-available",
    ]
    deltas = [frame["delta"] for frame in ai_sdk if frame["type"] == "reasoning-delta"]
    assert deltas == ["Which ", "task?", "\n\nSure?"]
