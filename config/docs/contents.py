"""Tables of contents: docs/index.md lists the guides, docs/adr/README.md the decisions."""

from collections.abc import Mapping
from pathlib import Path

from console.system import guides


def render_index(folder: Path, written: Mapping[Path, str], notice: str) -> str:
    """Return docs/index.md: each guide with what it answers, in the groups of the console's Guides.

    `written` has the text of the pages that are written from the code: they may not be in the folder yet.
    """

    def read_title(name: str) -> str:
        path = folder / f"{name}.md"
        return _extract_title(written.get(path) or path.read_text())

    sections = [
        f"## {group}\n\n"
        + "\n".join(f"- [{read_title(name)}]({name}.md): {answers}" for name, answers in entries.items())
        for group, entries in guides.GUIDES.items()
    ]
    text = (
        "Tool Gateway gives an LLM agent three tools instead of dozens. The same guides are in the console under\n"
        "*Guides*. [Decisions](adr/README.md) lists what was decided and why."
    )
    return f"# Tool Gateway\n\n{notice}\n\n{text}\n\n" + "\n\n".join(sections) + "\n"


def render_decisions(folder: Path, notice: str) -> str:
    """Return docs/adr/README.md: the titles of all decisions in a folder, by number."""
    titles = {path: _extract_title(path.read_text()) for path in sorted(folder.glob("0*.md"))}
    lines = "\n".join(f"- [{title}]({path.name})" for path, title in titles.items())
    return f"# Decisions\n\n{notice}\n\nEach decision has one page, which says what was decided and why.\n\n{lines}\n"


def _extract_title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")
