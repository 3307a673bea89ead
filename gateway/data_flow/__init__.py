"""Data flow: whether a call may send on what earlier calls of its turn brought in."""
