"""What a toolset takes of a conversation: the last messages, the tools called in them, and the rows that were read."""

from collections.abc import Iterator, Mapping
from typing import Any

from chat.connections import gives_connection_back
from chat.conversations.start_turn import NewTurn
from chat.gateway import envelopes
from chat.models import Message, ToolCall

# Limits of the gateway.
MAX_MESSAGES, MAX_MESSAGE_LENGTH, MAX_ROWS, MAX_TOOLS = 6, 2_000, 50, 50
MAX_NAME = 200
RECENT_MESSAGES = 4  # whose calls count as recent: two turns


@gives_connection_back
def describe_conversation(new: NewTurn, *, asked: Message | None) -> dict[str, list[Any]]:
    """Return messages, recent_tools and rows before a turn; what is empty is left out.

    `asked` is the question that a turn goes on with: no later message is sent, so that the turn keeps its tools.
    """
    if new.is_first:
        return {}
    messages = list(
        new.conversation.messages.shown()
        .filter(position__lt=new.begins_at)
        .prefetch_related("calls")
        .order_by("-position")[: 2 * MAX_MESSAGES]
    )[::-1]
    texts = [
        {"role": str(each.role), "content": each.text[-MAX_MESSAGE_LENGTH:]}
        for each in messages
        if each.text.strip() and (asked is None or each.position <= asked.position)
    ]
    recent_calls = [call for message in messages[-RECENT_MESSAGES:] for call in message.calls.all()]
    rows = {row["id"]: row for message in messages for call in message.calls.all() for row in _iterate_rows(call)}
    described: dict[str, list[Any]] = {
        "messages": texts[-MAX_MESSAGES:],
        "recent_tools": list(dict.fromkeys(call.name for call in recent_calls if call.name))[-MAX_TOOLS:],
        "rows": list(rows.values())[-MAX_ROWS:],
    }
    return {name: value for name, value in described.items() if value}


def _iterate_rows(call: ToolCall) -> Iterator[dict[str, str]]:
    """Yield the rows in the results of a call, with the kind of row that their key says."""
    for envelope in envelopes.iter_envelopes(call.envelope or {}):
        result = envelope.get("result")
        for key, value in result.items() if isinstance(result, Mapping) else ():
            for row in value if isinstance(value, list) else [value]:
                if not isinstance(row, Mapping):
                    continue
                id, name = row.get("id"), row.get("title") or row.get("name")
                if isinstance(id, str) and 0 < len(id) <= MAX_NAME and isinstance(name, str) and name:
                    yield {"id": id, "name": name[:MAX_NAME], "entity": key.removesuffix("s")[:MAX_NAME]}
