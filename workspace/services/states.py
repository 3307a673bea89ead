"""Aliases of states. Models that create rows of several types at once mix up their states."""

from typing import Any

from workspace.kinds import Kind

# Words with the same meaning. No type has two states in one line, so each word means at most one state of a type.
ALIKE: tuple[frozenset[str], ...] = (
    frozenset({"todo", "pending", "draft", "identified", "planned", "not_started", "backlog", "open", "new"}),
    frozenset({"in_progress", "active", "started", "working", "ongoing", "doing"}),
    frozenset({"done", "completed", "achieved", "closed", "complete", "finished"}),
    frozenset({"abandoned", "cancelled", "dropped"}),
)


def of(kind: Kind) -> list[str]:
    """Return the states of a type, the initial one first."""
    model: Any = kind.model  # Any: not every entity has a state
    return [value for value, _ in model._meta.get_field("state_key").flatchoices] if kind.has_state else []


def meant(word: str, kind: Kind) -> str | None:
    """Return the state of a type that a word means, or None."""
    states = of(kind)
    if word in states:
        return word
    spelt = word.strip().casefold().replace(" ", "_").replace("-", "_")
    alike = next((words for words in ALIKE if spelt in words), frozenset({spelt}))
    return next((state for state in states if state in alike), None)
