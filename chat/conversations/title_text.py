"""The text of a title."""

from chat.models import MAX_TITLE


def shorten_title(message: str) -> str:
    """Return the beginning of a message as a title: whole words, at most 60 characters."""
    line = " ".join(message.split())
    if len(line) <= MAX_TITLE:
        return line
    words = line[: MAX_TITLE - 1].rpartition(" ")[0] or line[: MAX_TITLE - 1]
    return f"{words}…"
