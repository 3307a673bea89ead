"""Short ways to build op entries, snapshots and catalogs, in the form of registry.snapshot.snapshot."""

from typing import Any

from registry.catalog import builder
from registry.catalog.model import Catalog
from registry.models import ROOT, get_parent_path


def build_schema(required: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    """Return a schema with these arguments and no others."""
    built = {"type": "object", "additionalProperties": False, "properties": properties}
    return built | ({"required": list(required)} if required else {})


def build_op_entry(path: str, **fields: Any) -> dict[str, Any]:
    """Return the entry of an op. Its tool name is its path with underscores."""
    entry = {"op": path, "tool_name": path.replace(".", "_"), "kind": "read", "summary": f"Summary of {path}"}
    return entry | {"needs_subject": True, "parameters_schema": build_schema()} | fields


def build_content(*ops: dict[str, Any], groups: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Return a snapshot of these ops with all their groups, or with `groups` if given."""
    paths = {ROOT} if groups is None else set()
    for entry in ops if groups is None else ():
        path = entry["op"]
        while (path := get_parent_path(path)) != ROOT:
            paths.add(path)
    group_paths = sorted(paths) if groups is None else list(groups)
    return {
        "format": 1,
        "groups": [{"path": path, "summary": f"Group {path}"} for path in group_paths],
        "ops": list(ops),
    }


def build_catalog(*ops: dict[str, Any]) -> Catalog:
    return builder.build_catalog("v" * 64, build_content(*ops))
