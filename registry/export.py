"""Export a snapshot as YAML files that registry.files can read, or as a CSV table.

The same content gives the same bytes on every database: keys without a defined order are sorted.
"""

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import yaml

from core import spreadsheet
from registry import snapshot
from registry.models import parent_of

WIDTH = 120  # characters of a line

_MADE = "# Written by manage.py catalog export."
_IN_ORDER = (*snapshot.OP_FIELDS, "connection", "policy", "examples", "aliases")
# Characters that a YAML block scalar would treat as a line end, or lose.
_NOT_IN_A_BLOCK = re.compile(r"[\r\x85\u2028\u2029\ufeff]|[ \t]\n|\A\s|[^\S\n]\Z")

COLUMNS = (*_IN_ORDER, "tokens_short", "tokens_full")


class NotEmpty(Exception):
    """The folder has YAML files that this export would not overwrite; nothing was written."""


def to_folder(content: dict[str, Any], folder: Path) -> list[Path]:
    """Write a snapshot into a folder as YAML files. Returns their paths.

    Raises NotEmpty if the folder has other YAML files, because those would be read together with these.
    """
    files = {folder / name: said for name, said in to_files(content).items()}
    if others := sorted(path.name for path in folder.glob("*.yaml") if path not in files):
        raise NotEmpty(f"{folder} also contains {', '.join(others[:5])}. Remove them, or choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for path, said in files.items():
        path.write_text(said, encoding="utf-8", newline="\n")
    return list(files)


def to_zip(content: dict[str, Any]) -> bytes:
    """Return a snapshot as a ZIP archive of YAML files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, said in to_files(content).items():
            # ZipInfo has a fixed timestamp, so that the same content gives the same bytes.
            archive.writestr(zipfile.ZipInfo(name), said, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def to_files(content: dict[str, Any]) -> dict[str, str]:
    """Return {file name: YAML text}: one file for groups, one for prompts, and one for the ops of each group."""
    documents: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for group in content["groups"]:
        _list(documents, "groups", "groups").append(_ordered(group, ("path", "summary")))
    for section in content.get("sections", []):
        _list(documents, "prompts", "sections").append(_ordered(section, snapshot.SECTION_FIELDS))
    for op in content["ops"]:
        _list(documents, parent_of(op["op"]), "ops").append(_op(op))
    return {f"{name}.yaml": f"{_MADE}\n{text(document)}" for name, document in sorted(documents.items())}


def text(value: Any) -> str:
    """Return a value as YAML, with multi-line strings as block scalars."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH, default_flow_style=False)


def to_csv(content: dict[str, Any], tokens: dict[str, list[int]]) -> str:
    """Return a snapshot's ops as CSV with a header. Cells that look like formulas start with a quote."""
    return spreadsheet.table(
        COLUMNS,
        (
            [*(_cell(snapshot.value(op, name)) for name in _IN_ORDER), *tokens.get(op["op"], ["", ""])]
            for op in content["ops"]
        ),
    )


def _cell(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if value not in ([], {}) else ""


def _list(documents: dict[str, dict[str, list[dict[str, Any]]]], name: str, key: str) -> list[dict[str, Any]]:
    return documents.setdefault(name, {}).setdefault(key, [])


def _op(entry: dict[str, Any]) -> dict[str, Any]:
    return _ordered(entry, _IN_ORDER)


def _ordered(entry: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _settled(entry[name]) for name in names if name in entry}


def _settled(value: Any) -> Any:
    """Return JSON with object keys sorted, because databases store them in different orders."""
    if isinstance(value, dict):
        return {name: _settled(value[name]) for name in sorted(value)}
    return [_settled(item) for item in value] if isinstance(value, list) else value


class _Dumper(yaml.CSafeDumper):
    """Dump multi-line strings as block scalars, and never use YAML aliases, so that each entry can be read alone."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.CSafeDumper, value: str) -> yaml.ScalarNode:
    if _NOT_IN_A_BLOCK.search(value):
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"')
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)
