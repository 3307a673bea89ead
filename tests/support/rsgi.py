"""Requests as granian's RSGI interface describes them."""

from types import SimpleNamespace
from typing import Any


class Headers:
    """Headers as granian's: a value beyond ASCII is in keys() alone."""

    def __init__(self, *items: tuple[str, str]) -> None:
        self._items = items

    def keys(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self._items))

    def items(self) -> list[tuple[str, str]]:
        return [(name, value) for name, value in self._items if value.isascii()]


def build_scope(*headers: tuple[str, str], **overrides: Any) -> Any:
    return SimpleNamespace(
        **{
            "method": "GET",
            "path": "/api/v1/help",
            "query_string": "path=root",
            "client": "127.0.0.1:50000",
            "server": "127.0.0.1:8000",
            "http_version": "1.1",
            "scheme": "http",
            "authority": None,
            "headers": Headers(*headers),
            **overrides,
        }
    )
