"""The UI message stream of the AI SDK (https://ai-sdk.dev/docs/ai-sdk-ui/stream-protocol), version v1."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from chat.protocols.text_parts import TextParts

Frame = dict[str, Any]

HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
FINISH_REASONS = {"stop": "stop", "limit": "length", "ask": "tool-calls"}


class AiSdkEncoder:
    """Turns the events of one turn into chunks of a message: a new one, or the client's that goes on."""

    def __init__(self, *, message_id: str = "") -> None:
        self._message_id = message_id
        self._texts = TextParts()

    def encode(self, type: str, data: Mapping[str, Any]) -> Iterator[Frame]:
        """Yield the chunks of the protocol for one of our events."""
        if type == "text":
            yield from self._encode_text(data.get("delta", ""))
            return
        if type != "operation":
            yield from self._close_text()
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

    def frame(self, chunk: Frame) -> bytes:
        """Return a chunk as it is sent."""
        return b"data: " + orjson.dumps(chunk) + b"\n\n"

    def end(self) -> bytes:
        """Return what is sent after the last chunk."""
        return b"data: [DONE]\n\n"

    def _encode_text(self, delta: str) -> Iterator[Frame]:
        if not delta:
            return
        if self._texts.open():
            yield {"type": "text-start", "id": str(self._texts.number)}
        yield {"type": "text-delta", "id": str(self._texts.number), "delta": delta}

    def _close_text(self) -> Iterator[Frame]:
        if self._texts.close():
            yield {"type": "text-end", "id": str(self._texts.number)}

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
