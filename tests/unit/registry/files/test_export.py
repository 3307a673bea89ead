"""Copy as files: the same content gives the same bytes, what is read back is what was written, and tables are inert."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from registry.files import export, loader, yaml_format
from registry.snapshot import diff
from tests.support.op_entries import op

SHIPPED = loader.read_shipped_catalog()


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_shipped_catalog_survives_the_way_through_files(tmp_path: Path) -> None:
    first = export.write_to_folder(SHIPPED, tmp_path / "first")
    read = yaml_format.read_folder(tmp_path / "first")
    export.write_to_folder(read, tmp_path / "second")

    assert not diff.diff_snapshots(SHIPPED, read)
    assert written(tmp_path / "first") == written(tmp_path / "second")
    assert {"groups.yaml", "prompts.yaml", "onto.task.yaml"} <= {path.name for path in first}
    assert all(len(line) <= 200 for path in first for line in path.read_text().splitlines())


def test_order_of_what_has_none_makes_no_difference(tmp_path: Path) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: turned(value[name]) for name in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    export.write_to_folder(SHIPPED, tmp_path / "one")
    export.write_to_folder(turned(SHIPPED), tmp_path / "other")

    assert written(tmp_path / "one") == written(tmp_path / "other")


def test_writing_again_over_what_was_written_is_fine_and_over_other_files_is_not(tmp_path: Path) -> None:
    export.write_to_folder(SHIPPED, tmp_path)
    export.write_to_folder(SHIPPED, tmp_path)
    (tmp_path / "mine.yaml").write_text("groups: []")

    with pytest.raises(export.FolderNotEmpty, match=r"mine\.yaml"):
        export.write_to_folder(SHIPPED, tmp_path)


def test_a_group_called_groups_shares_its_file(tmp_path: Path) -> None:
    content = {"format": 1, "groups": [{"path": "groups", "summary": "Of people"}], "ops": [op("groups.get")]}

    export.write_to_folder(content, tmp_path)

    assert list(written(tmp_path)) == ["groups.yaml"]
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
def test_any_text_is_read_back_as_it_was(text: str) -> None:
    assert yaml.safe_load(export.dump_yaml({"text": text})) == {"text": text}


@given(TEXTS)
def test_no_cell_of_a_table_is_a_formula(text: str) -> None:
    content = {"ops": [op("a.b", description=text, keywords=[text], examples=[{"args": {"x": text}}])]}

    header, row = csv.reader(io.StringIO(export.to_csv(content, {"a.b": [3, 9]}), newline=""))

    cells = dict(zip(header, row, strict=True))
    assert not any(cell.startswith(tuple("=+-@\t\r")) for cell in row)
    assert cells["description"] in (text, f"'{text}")
    assert (cells["tokens_short"], cells["tokens_full"]) == ("3", "9")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1"])
def test_a_cell_that_would_run_is_quoted(text: str) -> None:
    assert f"'{text}" in export.to_csv({"ops": [op("a.b", description=text)]}, {})
