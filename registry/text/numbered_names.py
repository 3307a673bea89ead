"""Append numbers to names that are taken: task_2, task_3."""

from collections.abc import Callable
from itertools import count


class NumberedNames:
    """Finds free names. A search goes on where the last one for the same name ended: no name becomes free again."""

    def __init__(self) -> None:
        self._last_numbers: dict[str, int] = {}

    def find_free(self, name: str, is_free: Callable[[str], bool]) -> str:
        """Return the first name with a number, from 2, that is free."""
        numbers = count(self._last_numbers.get(name, 2))
        number = next(number for number in numbers if is_free(f"{name}_{number}"))
        self._last_numbers[name] = number
        return f"{name}_{number}"
