"""What alerts need to know from the registry, whose functions `config/wiring.py` hands in at start."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple


class RegistryReaders(NamedTuple):
    """How to read the connection of each op, what changed upstream by connection, and the names of releases."""

    map_connections: Callable[[Collection[str]], Mapping[str, str]]
    count_changed: Callable[[], Mapping[str, int]]
    name_releases: Callable[[Iterable[str]], Mapping[str, str]]


_readers = RegistryReaders(lambda _: {}, dict, lambda _: {})


def set_readers(readers: RegistryReaders) -> None:
    """Set how the registry is read."""
    global _readers
    _readers = readers


def get_readers() -> RegistryReaders:
    """Return how to read the registry."""
    return _readers
