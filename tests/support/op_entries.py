"""Snapshots and catalogs made of a few words, in the form of registry.snapshot.snapshot."""

from typing import Any

from registry.catalog import model
from registry.catalog.model import Catalog
from registry.models import ROOT, get_parent_path


def schema(required: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    """Return a closed schema of these arguments."""
    found = {"type": "object", "additionalProperties": False, "properties": properties}
    return found | ({"required": list(required)} if required else {})


def op(path: str, **fields: Any) -> dict[str, Any]:
    """Return an op's entry; its tool name is its path with underscores."""
    said = {"op": path, "tool_name": path.replace(".", "_"), "kind": "read", "summary": f"Summary of {path}"}
    return said | {"needs_subject": True, "parameters_schema": schema()} | fields


def content(*ops: dict[str, Any], groups: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Return a snapshot of these ops, with every group above them unless `groups` names others."""
    found = {ROOT} if groups is None else set()
    for entry in ops if groups is None else ():
        path = entry["op"]
        while (path := get_parent_path(path)) != ROOT:
            found.add(path)
    listed = sorted(found) if groups is None else list(groups)
    return {
        "format": 1,
        "groups": [{"path": path, "summary": f"Group {path}"} for path in listed],
        "ops": list(ops),
    }


def catalog(*ops: dict[str, Any]) -> Catalog:
    """Return a catalog of these ops."""
    return model.build_catalog("v" * 64, content(*ops))
