"""Past turns of a conversation, as plain values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool."""

    id: str
    name: str  # of the tool
    arguments: str  # JSON text, as the model sent it
    result: str  # JSON text


@dataclass(frozen=True, slots=True)
class Step:
    """One round of the model: what it said, and the calls it made."""

    text: str
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class PastTurn:
    """What the user wrote, the rounds with calls, and the answer. A turn that only continues one has no user text."""

    user_text: str | None
    steps: tuple[Step, ...]
    answer: str
