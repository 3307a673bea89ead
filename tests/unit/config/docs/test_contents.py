"""The tables of contents of docs/ list every page."""

from config.docs import contents
from console.system import guides


def test_index_links_to_every_guide_with_its_title() -> None:
    written = {guides.FOLDER / "reference/jobs.md": "# A new title\n"}

    index = contents.render_index(guides.FOLDER, written, "")

    assert [name for name in guides.list_names() if f"]({name}.md): " not in index] == []
    assert "- [A new title](reference/jobs.md): " in index
