"""States told in the words of another kind: who makes rows of several kinds at once mixes them up."""

from typing import Any

from workspace.kinds import Kind

# Words that mean the same of different kinds. No kind has two states in one line, so a word has one meaning for each.
ALIKE: tuple[frozenset[str], ...] = (
    frozenset({"todo", "pending", "draft", "identified", "planned", "not_started", "backlog", "open", "new"}),
    frozenset({"in_progress", "active", "started", "working", "ongoing", "doing"}),
    frozenset({"done", "completed", "achieved", "closed", "complete", "finished"}),
    frozenset({"abandoned", "cancelled", "dropped"}),
)


def of(kind: Kind) -> list[str]:
    """Return the states of a kind, the first one first."""
    model: Any = kind.model  # not every entity has a state, so its type promises none
    return [value for value, _ in model._meta.get_field("state_key").flatchoices] if kind.has_state else []


def meant(word: str, kind: Kind) -> str | None:
    """Return the state of a kind that a word means; None where it means none."""
    states = of(kind)
    if word in states:
        return word
    spelt = word.strip().casefold().replace(" ", "_").replace("-", "_")
    alike = next((words for words in ALIKE if spelt in words), frozenset({spelt}))
    return next((state for state in states if state in alike), None)
