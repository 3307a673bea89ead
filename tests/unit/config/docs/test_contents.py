"""The tables of contents of docs/ list every page."""

from pathlib import Path

from config.docs import contents
from console.system import guides


def test_index_links_to_every_guide_with_its_title() -> None:
    written = {guides.FOLDER / "reference/jobs.md": "# A new title\n"}

    index = contents.render_index(guides.FOLDER, written, "")

    assert [name for name in guides.list_names() if f"]({name}.md): " not in index] == []
    assert "- [A new title](reference/jobs.md): " in index


def test_decisions_are_listed_by_number(tmp_path: Path) -> None:
    (tmp_path / "0002-b.md").write_text("# 2. Second\n\nText.\n")
    (tmp_path / "0001-a.md").write_text("# 1. First\n")
    (tmp_path / "README.md").write_text("# Decisions\n")

    page = contents.render_decisions(tmp_path, "")

    assert page.endswith("\n\n- [1. First](0001-a.md)\n- [2. Second](0002-b.md)\n")
