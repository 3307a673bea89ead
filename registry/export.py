"""A snapshot as files: YAML of the form that registry.files reads, and a table for a spreadsheet.

The same content gives the same bytes, whichever database it comes from: what has no order of its own is sorted.
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
# What YAML's blocks would take for the end of a line, or lose there.
_NOT_IN_A_BLOCK = re.compile(r"[\r\x85\u2028\u2029\ufeff]|[ \t]\n|\A\s|[^\S\n]\Z")

COLUMNS = (*_IN_ORDER, "tokens_short", "tokens_full")


class NotEmpty(Exception):
    """The folder holds files of a catalog that are not of this one; nothing was written."""


def to_folder(content: dict[str, Any], folder: Path) -> list[Path]:
    """Write a snapshot as files into a folder. Returns the files.

    Raises NotEmpty where the folder holds other YAML files, which would be read together with these.
    """
    files = {folder / name: said for name, said in to_files(content).items()}
    if others := sorted(path.name for path in folder.glob("*.yaml") if path not in files):
        raise NotEmpty(f"{folder} holds {', '.join(others[:5])} as well. Remove them, or choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for path, said in files.items():
        path.write_text(said, encoding="utf-8", newline="\n")
    return list(files)


def to_zip(content: dict[str, Any]) -> bytes:
    """Return a snapshot as files in a ZIP archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, said in to_files(content).items():
            archive.writestr(zipfile.ZipInfo(name), said, zipfile.ZIP_DEFLATED)  # without a time: the same bytes again
    return out.getvalue()


def to_files(content: dict[str, Any]) -> dict[str, str]:
    """Return a snapshot as YAML, {name: text}: groups, prompts, and the ops of each group in a file of its name."""
    documents: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for group in content["groups"]:
        _list(documents, "groups", "groups").append(_ordered(group, ("path", "summary")))
    for section in content.get("sections", []):
        _list(documents, "prompts", "sections").append(_ordered(section, snapshot.SECTION_FIELDS))
    for op in content["ops"]:
        _list(documents, parent_of(op["op"]), "ops").append(_op(op))
    return {f"{name}.yaml": f"{_MADE}\n{text(document)}" for name, document in sorted(documents.items())}


def text(value: Any) -> str:
    """Return a value as YAML, strings of several lines as blocks."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=WIDTH, default_flow_style=False)


def to_csv(content: dict[str, Any], tokens: dict[str, list[int]]) -> str:
    """Return the ops of a snapshot as CSV with a header; a cell that a spreadsheet would run begins with a quote."""
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
    """Return JSON with its objects in the order of their names: one database keeps another order, one none."""
    if isinstance(value, dict):
        return {name: _settled(value[name]) for name in sorted(value)}
    return [_settled(item) for item in value] if isinstance(value, list) else value


class _Dumper(yaml.CSafeDumper):
    """Strings of several lines as blocks, and nothing by reference: each entry reads alone."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.CSafeDumper, value: str) -> yaml.ScalarNode:
    if _NOT_IN_A_BLOCK.search(value):
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"')
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)
