"""Name ops by their tool names in texts that name them by their paths."""

import re
from collections.abc import Mapping
from typing import Any

from registry.catalog.model import Catalog

_OP_PATH = re.compile(r"(?<![A-Za-z0-9_])[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")


class OpToolNames(dict[str, str]):
    """{path: tool name} of all ops of a catalog. Derived from the catalog once."""

    @classmethod
    def of(cls, catalog: Catalog) -> "OpToolNames":
        """Return the names of a catalog."""
        return catalog.get_or_derive(cls, lambda: cls({op.op: op.tool_name for op in catalog.ops.values()}))


def replace_paths(text: str, names: Mapping[str, str]) -> str:
    """Return a text with the tool name of each op that it names by its path."""
    return _OP_PATH.sub(lambda match: names.get(match[0], match[0]), text) if "." in text else text


def replace_paths_in_values(value: Any, names: Mapping[str, str], *, kept: frozenset[str] = frozenset()) -> Any:
    """Return a JSON value with the paths in all of its texts replaced, except in members whose name is `kept`."""
    if isinstance(value, str):
        return replace_paths(value, names)
    if isinstance(value, dict):
        return {
            key: each if key in kept else replace_paths_in_values(each, names, kept=kept) for key, each in value.items()
        }
    return [replace_paths_in_values(each, names, kept=kept) for each in value] if isinstance(value, list) else value
