"""Names of rows in messages."""

MAX_LENGTH = 60  # characters; the name of a requirement is its whole text


def quote_name(name: str) -> str:
    """Return a row's name in quotes, on one line, cut if it is long."""
    line = " ".join(name.split())
    return f"“{line}”" if len(line) <= MAX_LENGTH else f"“{line[:MAX_LENGTH].rstrip()}…”"
