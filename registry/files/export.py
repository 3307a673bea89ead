"""Export a snapshot as YAML files or a CSV table, and format changes for a terminal.

The same content gives the same bytes on every database: keys without a defined order are sorted.
"""

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from core.text import lists
from registry.models import get_parent_path
from registry.snapshot import snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, OP_FIELDS, Kind
from registry.snapshot.diff import CHANGE_ACTIONS, Action, CopyChange
from registry.snapshot.entries import OpEntry, Snapshot
from registry.text import word_diff
from registry.vocabulary import KEY as VOCABULARY_KEY

LINE_WIDTH = 120  # characters of a line
_HEADER = "# Written by manage.py catalog export."
_FILES = {Kind.GROUP: "groups", Kind.SECTION: "prompts", Kind.AGENT: "agents", Kind.PIN: "pins"}
_FILES |= {Kind.VOCABULARY: VOCABULARY_KEY}
_FIELDS_IN_ORDER = (*OP_FIELDS, "connection", "policy", "examples", "aliases")

# Characters that a YAML block scalar would treat as a line end, or lose.
_UNSAFE_IN_BLOCK = re.compile(r"[\r\x85\u2028\u2029\ufeff]|[ \t]\n|\A\s|[^\S\n]\Z")
CSV_COLUMNS = (*_FIELDS_IN_ORDER, "tokens_short", "tokens_full")
CONTEXT_LINES = 1  # unchanged lines around a difference
_SIGNS = {"both": " ", "before": "-", "after": "+"}


class FolderNotEmpty(Exception):
    """The folder has YAML files that this export would not overwrite; nothing was written."""


def write_to_folder(content: Snapshot, folder: Path) -> list[Path]:
    """Write a snapshot into a folder as YAML files. Returns their paths.

    Raises FolderNotEmpty if the folder has other YAML files, because they would be read together with these.
    """
    files = {folder / name: text for name, text in to_files(content).items()}
    if other_files := sorted(path.name for path in folder.glob("*.yaml") if path not in files):
        raise FolderNotEmpty(
            f"{folder} also contains {', '.join(other_files[:5])}. Remove them, or choose another folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in files.items():
        path.write_text(text, encoding="utf-8", newline="\n")
    return list(files)


def to_zip(content: Snapshot) -> bytes:
    """Return a snapshot as a ZIP archive of YAML files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, file_text in to_files(content).items():
            # ZipInfo has a fixed timestamp, so that the same content gives the same bytes.
            archive.writestr(zipfile.ZipInfo(name), file_text, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def to_files(content: Snapshot) -> dict[str, str]:
    """Return {file name: YAML text}: one file for the ops of each group, and one for each other kind of entry."""
    documents: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for kind, file in _FILES.items():
        copy_kind = COPY_KINDS[kind]
        for entry in copy_kind.get_entries(content):
            _get_list(documents, file, copy_kind.key).append(_order_fields(entry, copy_kind.fields))
    for op in content["ops"]:
        _get_list(documents, get_parent_path(op["op"]), "ops").append(_order_op(op))
    return {f"{name}.yaml": f"{_HEADER}\n{dump_yaml(document)}" for name, document in sorted(documents.items())}


def dump_yaml(value: Any) -> str:
    """Return a value as YAML, with multi-line strings as block scalars."""
    return yaml.dump(
        value, Dumper=_BlockDumper, sort_keys=False, allow_unicode=True, width=LINE_WIDTH, default_flow_style=False
    )


def to_csv(content: Snapshot, tokens: dict[str, list[int]]) -> str:
    """Return a snapshot's ops as CSV with a header. Cells that look like formulas start with a quote."""
    return lists.render_csv(
        CSV_COLUMNS,
        (
            [
                *(_format_cell(snapshot.get_value(op, name)) for name in _FIELDS_IN_ORDER),
                *tokens.get(op["op"], ["", ""]),
            ]
            for op in content["ops"]
        ),
    )


def _format_cell(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if value not in ([], {}) else ""


def _get_list(documents: dict[str, dict[str, list[dict[str, Any]]]], name: str, key: str) -> list[dict[str, Any]]:
    return documents.setdefault(name, {}).setdefault(key, [])


def _order_op(entry: OpEntry) -> dict[str, Any]:
    return _order_fields(entry, _FIELDS_IN_ORDER)


def _order_fields(entry: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: _sort_keys(entry[name]) for name in names if name in entry}


def _sort_keys(value: Any) -> Any:
    """Return JSON with object keys sorted, because databases store them in different orders."""
    if isinstance(value, dict):
        return {name: _sort_keys(value[name]) for name in sorted(value)}
    return [_sort_keys(item) for item in value] if isinstance(value, list) else value


class _BlockDumper(yaml.CSafeDumper):
    """Dump multi-line strings as block scalars, and never use YAML aliases, so that each entry can be read alone."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.CSafeDumper, value: str) -> yaml.ScalarNode:
    if _UNSAFE_IN_BLOCK.search(value):
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"')
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_BlockDumper.add_representer(str, _represent_text)


def format_changes(changes: Sequence[CopyChange]) -> str:
    """Return changes as text, with their number at the end."""
    lines = [line for change in changes for line in _format_change(change)]
    return "\n".join([*lines, _format_counts(changes)])


def _format_counts(changes: Sequence[CopyChange]) -> str:
    counts = {action: sum(change.action == action for change in changes) for action in CHANGE_ACTIONS}
    return ", ".join(f"{count} {action}" for action, count in counts.items()) + "."


def _format_change(change: CopyChange) -> Iterator[str]:
    yield f"{change.kind} {change.name} {change.action}"
    if change.action == Action.CHANGED:
        for name, (before, after) in change.fields.items():
            yield f"  {name}"
            yield from (f"    {_escape_unprintable(line)}" for line in _diff_lines(before, after))


def _diff_lines(before: Any, after: Any) -> Iterator[str]:
    pieces = word_diff.diff_lines(_to_text(before), _to_text(after), context=CONTEXT_LINES)
    for piece in pieces:
        if piece != word_diff.LEFT_OUT:
            yield from (f"{_SIGNS[piece.side]}{line}" for line in piece.text.splitlines())


def _to_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return dump_yaml(value) if value not in ([], {}, None) else ""


def _escape_unprintable(line: str) -> str:
    """Return an untrusted line with non-printable characters escaped."""
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in line)
