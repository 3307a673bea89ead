"""JSON Pointers (RFC 6901): paths of values inside a JSON document, such as /args/tags/0."""

import re
from collections.abc import Iterable
from typing import Any

_INDEX = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


def escape(name: str) -> str:
    """Return one member name as a token of a pointer."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name


def build(parts: Iterable[str | int]) -> str:
    """Return the pointer of a path of member names and list indexes. The empty path is the whole document, ""."""
    return "".join("/" + escape(str(part)) for part in parts)


def split(pointer: str) -> list[str]:
    """Return the member names and list indexes of a pointer."""
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]


def resolve(document: Any, pointer: str) -> Any:
    """Return the value at a pointer. Raises LookupError if there is none."""
    value = document
    for name in split(pointer):
        if isinstance(value, dict):
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name):
            value = value[int(name)]
        else:
            raise LookupError(pointer)
    return value
