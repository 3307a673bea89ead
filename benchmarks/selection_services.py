"""The connected services of the labelled turns.

`shop` is the example shop, `crm` and `files` are example domains, `stickies` has sticky notes, and `registry` has names
like ours.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from demo import load
from demo.shop import service
from registry.imports import functions, import_document, op_paths, run_import
from registry.imports.document_source import DocumentFiles
from registry.imports.import_document import Selection
from registry.imports.import_source import ImportSource
from registry.imports.op_paths import PathTree
from registry.imports.openai import ProviderFormat, collect_functions
from registry.snapshot.entries import OpEntry, Snapshot

ADDRESS = f"http://127.0.0.1{service.DOCUMENT_PATH}"
STICKIES: dict[str, Any] = {
    "list_stickies": ("List sticky notes", {}),
    "search_stickies": ("Search sticky notes by words", {"query": "string"}),
    "get_sticky": ("Get one sticky note", {"sticky_id": "string"}),
    "create_sticky": ("Create a sticky note", {"text": "string"}),
    "update_sticky": ("Change the text of a sticky note", {"sticky_id": "string", "text": "string"}),
    "delete_sticky": ("Delete a sticky note", {"sticky_id": "string"}),
}
REGISTRY: dict[str, Any] = {
    "projects_list": ("List projects of the registry", {}),
    "projects_get": ("Get a project of the registry", {"project_id": "string"}),
    "projects_create": ("Create a project in the registry", {"name": "string"}),
    "projects_update": ("Update a project of the registry", {"project_id": "string", "name": "string"}),
    "projects_delete": ("Delete a project from the registry", {"project_id": "string"}),
    "releases_list": ("List the releases of a project", {"project_id": "string"}),
    "releases_create": ("Publish a release of a project", {"project_id": "string", "version": "string"}),
}


def add_services(content: Snapshot, names: Sequence[str]) -> Snapshot:
    """Return a snapshot with the ops of these services."""
    added = [entry for name in names for entry in _READERS[name](name)]
    return {**content, "ops": [*content["ops"], *added]}


def _read_shop(group: str) -> list[OpEntry]:
    files = DocumentFiles(ADDRESS, {ADDRESS: json.dumps(service.load_document()).encode()})
    return _build_entries(import_document.read_document(files).pick(Selection(), group), group)


def _read_example(group: str) -> list[OpEntry]:
    """Return an example domain as if it was imported: imported ops have no contexts."""
    ops = load.read_copy()["ops"]
    return [{**op, "contexts": []} for op in ops if op["op"].startswith(f"{group}.")]


def _read_tools(group: str, tools: Mapping[str, Any]) -> list[OpEntry]:
    items = [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {
                    "type": "object",
                    "properties": {argument: {"type": type} for argument, type in arguments.items()},
                    "required": list(arguments),
                },
            },
        }
        for name, (description, arguments) in tools.items()
    ]
    return _build_entries(functions.read_functions(collect_functions(items, ProviderFormat.OPENAI), group), group)


def _build_entries(source: ImportSource, group: str) -> list[OpEntry]:
    parsed = {op.name: op.parsed for op in source.ops}
    paths = op_paths.assign_paths(parsed, group, PathTree(set()), known_paths={})
    return [
        run_import.build_op_entry(op, path=paths[op.name], tool_name=op.tool_name, connection=group)
        for op in source.ops
    ]


_READERS: dict[str, Callable[[str], list[OpEntry]]] = {
    "shop": _read_shop,
    "crm": _read_example,
    "files": _read_example,
    "stickies": lambda group: _read_tools(group, STICKIES),
    "registry": lambda group: _read_tools(group, REGISTRY),
}
