"""Copy as files: equal content gives equal bytes, files read back as written, and CSV cells are never formulas."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from core.text import lists
from registry.files import export, loader, yaml_format
from registry.snapshot import diff
from tests.support.rows.op_entries import build_op_entry

SHIPPED = loader.read_shipped_catalog()


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_shipped_catalog_survives_export_and_import(tmp_path: Path) -> None:
    first = export.write_to_folder(SHIPPED, tmp_path / "first")
    read = yaml_format.read_folder(tmp_path / "first")
    export.write_to_folder(read, tmp_path / "second")

    assert not diff.diff_snapshots(SHIPPED, read)
    assert read_files(tmp_path / "first") == read_files(tmp_path / "second")
    assert {"groups.yaml", "prompts.yaml", "onto.task.yaml"} <= {path.name for path in first}
    assert all(len(line) <= 200 for path in first for line in path.read_text().splitlines())


def test_export_ignores_the_order_of_unordered_values(tmp_path: Path) -> None:
    def reverse_order(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: reverse_order(value[name]) for name in reversed(value)}
        return [reverse_order(item) for item in value] if isinstance(value, list) else value

    export.write_to_folder(SHIPPED, tmp_path / "one")
    export.write_to_folder(reverse_order(SHIPPED), tmp_path / "other")

    assert read_files(tmp_path / "one") == read_files(tmp_path / "other")


def test_export_overwrites_its_own_files_and_refuses_others(tmp_path: Path) -> None:
    export.write_to_folder(SHIPPED, tmp_path)
    export.write_to_folder(SHIPPED, tmp_path)
    (tmp_path / "mine.yaml").write_text("groups: []")

    with pytest.raises(export.FolderNotEmpty, match=r"mine\.yaml"):
        export.write_to_folder(SHIPPED, tmp_path)


def test_group_named_groups_shares_its_file(tmp_path: Path) -> None:
    content = {
        "format": 1,
        "groups": [{"path": "groups", "summary": "Of people"}],
        "ops": [build_op_entry("groups.get")],
    }

    export.write_to_folder(content, tmp_path)

    assert list(read_files(tmp_path)) == ["groups.yaml"]
    assert not diff.diff_snapshots(content, yaml_format.read_folder(tmp_path))


TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    [
        "a\r\nb",
        "a \n b",
        "\n",
        "yes",
        "null",
        "1e3",
        "0x1f",
        "- a\n- b",
        "a: b\n",
        "# no",
        "x\x85y\nz",
        "\ufeffa\n",
        "~",
    ]
)


@given(TEXTS)
def test_any_text_survives_export_and_import(text: str) -> None:
    assert yaml.safe_load(export.dump_yaml({"text": text})) == {"text": text}


@given(TEXTS)
def test_csv_cells_are_never_formulas(text: str) -> None:
    content = {"ops": [build_op_entry("a.b", description=text, keywords=[text], examples=[{"args": {"x": text}}])]}

    header, row = csv.reader(io.StringIO(export.to_csv(content, {"a.b": [3, 9]}), newline=""))

    cells = dict(zip(header, row, strict=True))
    assert not any(cell.startswith(tuple("=+-@\t\r")) for cell in row)
    assert cells["description"] == lists.escape_formula(text)
    assert (cells["tokens_short"], cells["tokens_full"]) == ("3", "9")
