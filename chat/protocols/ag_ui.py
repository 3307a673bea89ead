"""AG-UI 1.0 (https://docs.ag-ui.com): runs of an agent, with interrupts for calls that the user must agree to."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from chat.protocols.turn_encoder import Frame, TurnEncoder

APPROVAL_SCHEMA = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}},
    "required": ["approved"],
}


class AgUiEncoder(TurnEncoder):
    """Turns the events of one turn into those of a run. `run_id` and `thread_id` are the client's."""

    def __init__(self, *, thread_id: str, run_id: str) -> None:
        super().__init__()
        self._ids = {"threadId": thread_id, "runId": run_id}
        self._turn_id = ""
        self._interrupts: list[Frame] = []
        self._usage: list[Frame] = []

    def _encode_event(self, type: str, data: Mapping[str, Any]) -> Iterator[Frame]:
        if type == "session":
            self._turn_id = data["message_id"]
            yield {"type": "RUN_STARTED", **self._ids, "protocolVersion": "1.0"}
        elif type == "tool":
            yield from self._encode_tool(data)
        elif type == "usage":
            total = data["input"] + data["output"]
            self._usage = [{"inputTokens": data["input"], "outputTokens": data["output"], "totalTokens": total}]
        elif type == "done":
            yield self._encode_end(data)
        elif type == "error":
            yield {"type": "RUN_ERROR", "message": data["message"], "code": data["code"]}
        else:
            yield {"type": "CUSTOM", "name": type, "value": data}

    def _begin_text(self) -> Frame:
        return {"type": "TEXT_MESSAGE_START", "messageId": self._text_id, "role": "assistant"}

    def _add_text(self, delta: str) -> Frame:
        return {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._text_id, "delta": delta}

    def _end_text(self) -> Frame:
        return {"type": "TEXT_MESSAGE_END", "messageId": self._text_id}

    @property
    def _text_id(self) -> str:
        return f"{self._turn_id}-{self._text_number}"

    def _encode_tool(self, data: Mapping[str, Any]) -> Iterator[Frame]:
        call = {"toolCallId": data["id"]}
        if data["status"] == "start":
            yield {"type": "TOOL_CALL_START", **call, "toolCallName": data["name"]}
            yield {"type": "TOOL_CALL_ARGS", **call, "delta": orjson.dumps(data["args"]).decode()}
            yield {"type": "TOOL_CALL_END", **call}
        elif data["status"] == "confirm":
            self._interrupts.append(
                {
                    "id": data["id"],
                    "reason": "confirmation_required",
                    "message": data["envelope"].get("error", {}).get("message", ""),
                    **call,
                    "responseSchema": APPROVAL_SCHEMA,
                }
            )
        else:
            content = orjson.dumps(data["envelope"]).decode()
            yield {"type": "TOOL_CALL_RESULT", "messageId": f"{data['id']}-result", **call, "content": content}

    def _encode_end(self, data: Mapping[str, Any]) -> Frame:
        outcome: Frame = {"type": "success"}
        if data["reason"] == "ask" and self._interrupts:
            outcome = {"type": "interrupt", "interrupts": self._interrupts}
        elif data["reason"] == "cancelled":
            outcome = {"type": "cancelled"}
        result = {name: data[name] for name in ("reason", "title", "written") if name in data}
        return {"type": "RUN_FINISHED", **self._ids, "outcome": outcome, "result": result, "usage": self._usage}
