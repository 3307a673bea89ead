"""Find the lists, texts and members inside a JSON value that are worth shortening."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from chat.context.shortening.columns import ESSENTIAL
from chat.context.shortening.json_text import dump

MAX_DEPTH = 12  # deeper values are shortened only as a whole


@dataclass(frozen=True, slots=True)
class Node:
    """A member of an object, or an element of a list, with the size of its JSON in characters."""

    parent: dict[str, Any] | list[Any]
    key: Any
    size: int

    @property
    def value(self) -> Any:
        """The value itself."""
        return self.parent[self.key]

    @property
    def name(self) -> str:
        """The key in an object; empty for an element of a list."""
        return self.key if isinstance(self.key, str) else ""

    def replace(self, value: Any) -> None:
        """Put another value in its place."""
        self.parent[self.key] = value

    def remove(self) -> None:
        """Take the value out of its parent."""
        del self.parent[self.key]


def find_longest_list(root: dict[str, Any], *, is_wanted: Callable[[list[Any]], bool] = bool) -> Node | None:
    """Return the longest list that has more than one element and is wanted, or None."""
    return _find_longest(
        root, lambda node: isinstance(node.value, list) and len(node.value) > 1 and is_wanted(node.value)
    )


def find_longest_text(root: dict[str, Any], *, over: int) -> Node | None:
    """Return the longest text of more than `over` characters, or None."""
    return _find_longest(root, lambda node: isinstance(node.value, str) and len(node.value) > over)


def find_longest_member(root: dict[str, Any]) -> Node | None:
    """Return the longest member of an object that is not essential and in which no row has its id, or None."""
    return _find_longest(root, lambda node: bool(node.name) and not _is_essential(node))


def _is_essential(node: Node) -> bool:
    return node.name in ESSENTIAL or node.name.endswith("_id") or _has_essential(node.value)


def _has_essential(value: Any) -> bool:
    """Return whether a value has essential members at any depth."""
    if isinstance(value, dict):
        return any(key in ESSENTIAL or _has_essential(each) for key, each in value.items())
    return isinstance(value, list) and any(_has_essential(each) for each in value)


def _find_longest(root: dict[str, Any], is_wanted: Callable[[Node], bool]) -> Node | None:
    return max((node for node in _walk(root) if is_wanted(node)), key=lambda node: node.size, default=None)


def _walk(value: Any, depth: int = 0) -> Iterator[Node]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield Node(value, key, len(dump(each)))
        if depth < MAX_DEPTH:
            yield from _walk(each, depth + 1)
