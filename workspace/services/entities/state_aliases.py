"""Aliases of states. Models that create rows of several types at once mix up their states."""

from typing import Any

from workspace.entity_types import EntityType

# Words with the same meaning. No type has two states in one line, so each word means at most one state of a type.
STATE_ALIASES: tuple[frozenset[str], ...] = (
    frozenset({"todo", "pending", "draft", "identified", "planned", "not_started", "backlog", "open", "new"}),
    frozenset({"in_progress", "active", "started", "working", "ongoing", "doing"}),
    frozenset({"done", "completed", "achieved", "closed", "complete", "finished"}),
    frozenset({"abandoned", "cancelled", "dropped"}),
)


def list_states(kind: EntityType) -> list[str]:
    """Return the states of a type, the initial one first."""
    model: Any = kind.model  # Any: not every entity has a state
    return [value for value, _ in model._meta.get_field("state_key").flatchoices] if kind.has_state else []


def resolve_state(word: str, kind: EntityType) -> str | None:
    """Return the state of a type that a word means, or None."""
    states = list_states(kind)
    if word in states:
        return word
    normalised = word.strip().casefold().replace(" ", "_").replace("-", "_")
    synonyms = next((words for words in STATE_ALIASES if normalised in words), frozenset({normalised}))
    return next((state for state in states if state in synonyms), None)
