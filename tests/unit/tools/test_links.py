"""make check finds links of Markdown files that lead nowhere."""

from pathlib import Path

import pytest

from console.system import guides
from tools.links import find_dead_links, make_anchor


def test_find_dead_links_accepts_files_anchors_and_web_addresses(tmp_path: Path) -> None:
    (tmp_path / "picture.png").touch()
    (tmp_path / "a.md").write_text(
        "# A\n\n[b](docs/b.md#the-end_of-b), [up](#a), [web](https://acme.com/x), `[no](no)`\n"
    )
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/b.md").write_text(
        "# B\n\n## The `end_of` B\n\n![picture](../picture.png)\n\n[folder](../docs/)\n"
    )

    assert find_dead_links(tmp_path, ["a.md", "docs/b.md"]) == []


def test_find_dead_links_names_file_line_and_target(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\n[gone](b.md)\n\n| |\n|---|\n| [lost](#b) |\n\n![none](c.png)\n")

    assert find_dead_links(tmp_path, ["a.md"]) == [
        "a.md:3 links to b.md, which does not exist.",
        "a.md:7 links to #b, which does not exist.",
        "a.md:9 links to c.png, which does not exist.",
    ]


@pytest.mark.parametrize(
    "heading", ["Undo a release", "The API's answers: `ok` & more", "5 minutes – a tour", "a_b c-d"]
)
def test_anchors_of_the_site_are_those_of_the_console(heading: str) -> None:
    assert make_anchor(heading.replace("`", ""), "-") == guides.make_anchor(heading.replace("`", ""))
