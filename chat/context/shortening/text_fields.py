"""Replace a long text inside an answer by its beginning, and correct where to read on."""

from typing import Any

from chat.context.shortening import clipping
from chat.context.shortening.json_nodes import Node
from chat.context.shortening.json_text import dump
from core.text import token_budget

MIN_CHARS = 200  # shorter texts are not cut
MARKER_TOKENS = 20


def cut_text(node: Node, *, excess: int) -> str:
    """Replace the text by a beginning that is shorter by `excess` tokens, or by its first 200 characters.

    Returns what to say about it.
    """
    text, length = clipping.split_marker(node.value)
    budget = max(token_budget.count(dump(text)) - excess - MARKER_TOKENS, 0)
    chars = max(_find_length(text, budget), MIN_CHARS // 2)
    node.replace(clipping.mark_cut(text[:chars], length))
    offset = (
        _correct_offset(node.parent, node.name, len(text) - chars, chars) if isinstance(node.parent, dict) else None
    )
    more = "ask for this text alone" if offset is None else f"read on with field and offset {offset}"
    return f"{chars:,} of {length:,} characters; {more}"


def _find_length(text: str, budget: int) -> int:
    """Return how many characters from the beginning fit the budget, as JSON."""
    most = min(len(text) - 1, budget * 16)
    return token_budget.find_longest_beginning(most, lambda end: token_budget.count(dump(text[:end])) <= budget)


def _correct_offset(row: dict[str, Any], name: str, missing: int, chars: int) -> int | None:
    """Correct the entry of a text that the gateway truncated, which would continue after the missing part.

    Returns the offset, or None if the gateway sent the whole text.
    """
    truncated = row.get("truncated")
    entry = truncated.get(name) if isinstance(truncated, dict) else None
    offset = entry.get("next_offset") if isinstance(entry, dict) else None
    if not isinstance(offset, int):
        return None
    corrected = max(offset - missing, 0)
    row["truncated"] = {**row["truncated"], name: {**row["truncated"][name], "shown": chars, "next_offset": corrected}}
    return corrected
