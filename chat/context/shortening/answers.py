"""Answers of the gateway as a model reads them, and what is known about them when they are shortened."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from chat.context.shortening.json_text import dump

# Parts of meta that only the chat reads.
META_OF_CHAT = frozenset(("trace_id", "latency_ms", "operation"))
READ_ACTIONS = frozenset(
    {"list", "get", "search", "find", "read", "help", "run", "visit", "describe", "count", "history"}
)


class Detail(IntEnum):
    """How much is shown of an answer, from all of it to the least."""

    WHOLE = 0
    ROWS = 1  # of each row what names it and says where it stands, and the beginnings of texts
    NAMES = 2  # ids and names
    IDS = 3  # ids; of a write also the name
    OUTCOME = 4  # of a write op, id and name, of anything else what it was


@dataclass(frozen=True, slots=True)
class ReadableAnswer:
    """What a model reads of an answer, its operation, and the answers of a batch."""

    content: dict[str, Any]
    operation: Mapping[str, Any] = field(default_factory=dict)
    entries: tuple["ReadableAnswer", ...] = ()
    entries_name: str = ""  # the member that holds them: results of a batch, items of a loop in one

    @property
    def text(self) -> str:
        """The whole answer as JSON."""
        return dump(self.content)

    @property
    def is_batch(self) -> bool:
        """Whether this is the answer of a batch, or of a loop in one."""
        return bool(self.entries_name)

    @property
    def is_error(self) -> bool:
        """Whether this is the answer of one call that failed."""
        return self.content.get("ok") is False and not self.is_batch

    @property
    def is_write(self) -> bool:
        """Whether this is the answer of one call that changed something."""
        return self.content.get("ok") is True and "action" in self.operation and is_write(self.operation)


def is_write(operation: Mapping[str, Any]) -> bool:
    """Whether an operation, as envelopes describe it, changes something."""
    return operation.get("action") not in READ_ACTIONS


def read_answer(answer: Mapping[str, Any] | list[Any]) -> ReadableAnswer:
    """Return everything of an answer but what only the chat needs. A list becomes an object."""
    if not isinstance(answer, Mapping):
        return ReadableAnswer({"items": list(answer)})
    meta = answer.get("meta")
    meta = meta if isinstance(meta, Mapping) else {}
    kept = {name: each for name, each in meta.items() if name not in META_OF_CHAT and each}
    content = {name: each for name, each in answer.items() if name != "meta"} | ({"meta": kept} if kept else {})
    operation = meta.get("operation")
    operation = operation if isinstance(operation, Mapping) else {}
    name = "results" if "batch_id" in content else "items"
    parts = content.get(name)
    is_loop = "op" in content and "result" not in content
    if not isinstance(parts, list) or not ("batch_id" in content or is_loop) or not all(map(_is_object, parts)):
        return ReadableAnswer(content, operation)
    entries = tuple(map(read_answer, parts))
    return ReadableAnswer({**content, name: [each.content for each in entries]}, operation, entries, name)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)
