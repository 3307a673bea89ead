"""The shipped catalog, parsed once in each process: that takes 0.3 s, and a hundred tests do it."""

import pickle
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from registry.files import yaml_format

_parse_files = yaml_format.parse_files


def remember_parsed_files() -> None:
    """Let `yaml_format.parse_files` return a new copy of what it returned for the same files before."""
    yaml_format.parse_files = _parse_or_copy


def _parse_or_copy(texts: Mapping[str, bytes], *, alone: bool = True) -> dict[str, Any]:
    content: dict[str, Any] = pickle.loads(_parse_and_store(tuple(texts.items()), alone))  # noqa: S301 - stored just below
    return content


@lru_cache(maxsize=8)
def _parse_and_store(files: Collection[tuple[str, bytes]], alone: bool) -> bytes:
    return pickle.dumps(_parse_files(dict(files), alone=alone))
