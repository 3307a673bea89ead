"""The UI message stream of the AI SDK (https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol), version v1."""

from collections.abc import Iterator, Mapping
from typing import Any

from chat.protocols.turn_encoder import Frame, TurnEncoder

HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
FINISH_REASONS = {"stop": "stop", "limit": "length", "ask": "tool-calls"}


class AiSdkEncoder(TurnEncoder):
    """Turns the events of one turn into chunks of a message: a new one, or the client's that goes on."""

    def __init__(self, *, message_id: str = "") -> None:
        super().__init__()
        self._message_id = message_id

    def end(self) -> bytes:
        """Return what is sent after the last chunk."""
        return b"data: [DONE]\n\n"

    def _encode_event(self, type: str, data: Mapping[str, Any]) -> Iterator[Frame]:
        if type == "session":
            yield {"type": "start", "messageId": self._message_id or data["message_id"]}
            yield {"type": "data-session", "data": data, "transient": True}
        elif type == "tool":
            yield from self._encode_tool(data)
        elif type == "done":
            metadata = {name: data[name] for name in ("reason", "title", "written") if name in data}
            if data["reason"] == "cancelled":
                yield {"type": "abort", "reason": "The user stopped the answer."}
            else:
                reason = FINISH_REASONS[data["reason"]]
                yield {"type": "finish", "finishReason": reason, "messageMetadata": metadata}
        elif type == "error":
            yield {"type": "error", "errorText": data["message"]}
        else:
            yield {"type": f"data-{type}", "data": data, "transient": type == "operation"}

    def _begin_text(self) -> Frame:
        return {"type": "text-start", "id": str(self._text_number)}

    def _add_text(self, delta: str) -> Frame:
        return {"type": "text-delta", "id": str(self._text_number), "delta": delta}

    def _end_text(self) -> Frame:
        return {"type": "text-end", "id": str(self._text_number)}

    def _encode_tool(self, data: Mapping[str, Any]) -> Iterator[Frame]:
        shared = {"toolCallId": data["id"], "providerExecuted": True, "dynamic": True}
        if data["status"] == "start":
            yield {"type": "tool-input-available", "toolName": data["name"], "input": data["args"], **shared}
        elif data["status"] == "confirm":
            yield {"type": "tool-approval-request", "approvalId": data["id"], "toolCallId": data["id"]}
        elif (
            data["status"] == "error"
            and data["envelope"].get("error", {}).get("details", {}).get("reason") == "declined"
        ):
            yield {"type": "tool-output-denied", "toolCallId": data["id"]}
        elif data["status"] == "error":
            message = data["envelope"].get("error", {}).get("message", "The call failed.")
            yield {"type": "tool-output-error", "errorText": message, **shared}
        else:
            yield {"type": "tool-output-available", "output": data["envelope"], **shared}
