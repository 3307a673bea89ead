"""The texts of an answer: a call of a tool ends one, and the next word begins another."""


class TextParts:
    """Which text of an answer is open, by its number from 1."""

    def __init__(self) -> None:
        self.number = 0
        self._is_open = False

    def open(self) -> bool:
        """Open a text unless one is open. Return whether it is a new one."""
        if self._is_open:
            return False
        self._is_open = True
        self.number += 1
        return True

    def close(self) -> bool:
        """Close the open text. Return whether there was one."""
        was_open, self._is_open = self._is_open, False
        return was_open
