"""Tables of contents: docs/index.md lists the guides, docs/adr/README.md the decisions."""

from pathlib import Path

from console.system import guides


def render_index(notice: str) -> str:
    """Return docs/index.md: each guide with what it answers, in the groups of the console's Guides."""
    sections = [
        f"## {group}\n\n"
        + "\n".join(f"- [{guides.read_title(name)}]({name}.md): {answers}" for name, answers in entries.items())
        for group, entries in guides.GUIDES.items()
    ]
    text = (
        "Tool Gateway gives an LLM agent three tools instead of dozens. The same guides are in the console under\n"
        "*Guides*. [Decisions](adr/README.md) lists what was decided and why."
    )
    return f"# Tool Gateway\n\n{notice}\n\n{text}\n\n" + "\n\n".join(sections) + "\n"


def render_decisions(folder: Path, notice: str) -> str:
    """Return docs/adr/README.md: the titles of all decisions in a folder, by number."""
    titles = {path: path.read_text().partition("\n")[0].removeprefix("# ") for path in sorted(folder.glob("0*.md"))}
    lines = "\n".join(f"- [{title}]({path.name})" for path, title in titles.items())
    return f"# Decisions\n\n{notice}\n\nEach decision has one page, which says what was decided and why.\n\n{lines}\n"
