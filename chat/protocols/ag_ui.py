"""AG-UI 1.0 (https://docs.ag-ui.com): runs of an agent, with interrupts for calls that the user must agree to."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from chat.protocols.text_parts import TextParts

Frame = dict[str, Any]

APPROVAL_SCHEMA = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}},
    "required": ["approved"],
}


class AgUiEncoder:
    """Turns the events of one turn into those of a run. `run_id` and `thread_id` are the client's."""

    def __init__(self, *, thread_id: str, run_id: str) -> None:
        self._ids = {"threadId": thread_id, "runId": run_id}
        self._turn_id = ""
        self._texts = TextParts()
        self._interrupts: list[Frame] = []
        self._usage: list[Frame] = []

    def encode(self, type: str, data: Mapping[str, Any]) -> Iterator[Frame]:
        """Yield the events of the protocol for one of ours."""
        if type == "text":
            yield from self._encode_text(data.get("delta", ""))
            return
        if type != "operation":
            yield from self._close_text()
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

    def frame(self, event: Frame) -> bytes:
        """Return an event as it is sent."""
        return b"data: " + orjson.dumps(event) + b"\n\n"

    def end(self) -> bytes:
        """Return what is sent after the last event: nothing."""
        return b""

    def _encode_text(self, delta: str) -> Iterator[Frame]:
        if not delta:
            return
        if self._texts.open():
            yield {"type": "TEXT_MESSAGE_START", "messageId": self._text_id, "role": "assistant"}
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._text_id, "delta": delta}

    def _close_text(self) -> Iterator[Frame]:
        if self._texts.close():
            yield {"type": "TEXT_MESSAGE_END", "messageId": self._text_id}

    @property
    def _text_id(self) -> str:
        return f"{self._turn_id}-{self._texts.number}"

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
