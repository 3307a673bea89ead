"""Answers of help and discovery: a body as sent, rendered once per catalog and cached, or why there is none."""

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from core.text import json_text
from registry.catalog.model import Catalog

MAX_CACHED_ANSWERS = 20_000  # cached per catalog, about 1 kB each: enough for a few clients of 10,000 ops


@dataclass(frozen=True, slots=True)
class HelpAnswer:
    """A body as sent, its strong ETag, and the path and result count for the operation event."""

    body: bytes
    etag: str
    path: str
    result_count: int | None = None
    op_kind: str = ""  # "read" or "write" for help on an op
    found_paths: tuple[str, ...] = ()  # of the ops that a search found, best first


class UnknownPath(Exception):
    """There is no such node, or this caller may not see it."""

    def __init__(self, message: str, *, help_path: str, did_you_mean: list[str]) -> None:
        super().__init__(message)
        self.help_path = help_path
        self.did_you_mean = did_you_mean


class UnknownArgument(UnknownPath):
    """The op has no such argument."""


class BadHelpQuery(Exception):
    """A field of the query does not apply to this node."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def get_or_render_answer(catalog: Catalog, key: Hashable, render: Callable[[], HelpAnswer]) -> HelpAnswer:
    """Return the catalog's cached answer for a key; rendered if there is none."""
    cached: HelpAnswer | None = catalog.answers.get(key)
    if cached is None:
        cached = render()
        if len(catalog.answers) >= MAX_CACHED_ANSWERS:
            catalog.answers.clear()
        catalog.answers[key] = cached
    return cached


def build_answer(
    body: dict[str, Any],
    path: str = "",
    result_count: int | None = None,
    *,
    op_kind: str = "",
    found_paths: tuple[str, ...] = (),
) -> HelpAnswer:
    """Return a body as an answer, rendered, with its ETag."""
    text = bytes(memoryview(json_text.dump(body)))  # copied, because orjson's bytes keep a buffer of 4 kB or more
    etag = f'"{hashlib.sha256(text).hexdigest()[:32]}"'
    return HelpAnswer(text, etag, path, result_count, op_kind, found_paths)


def drop_empty(body: dict[str, Any], always_kept: tuple[str, ...] = ("args",)) -> dict[str, Any]:
    """Return a body without None and empty strings, lists and objects. False and 0 stay."""
    return {key: value for key, value in body.items() if key in always_kept or value not in ("", [], {}, (), None)}
