"""The site and the console read the same Markdown in two libraries, which must find the same lists, tables and code."""

import re
from pathlib import Path

import markdown
import pytest

from console.system import guides

STRUCTURE = re.compile(r"<(li|tr|pre|h2|h3)[ >]")
EXTENSIONS = ["tables", "toc", "pymdownx.highlight", "pymdownx.superfences"]  # those of mkdocs.yml


@pytest.mark.parametrize("name", guides.list_names())
def test_site_has_the_structure_of_the_console(name: str) -> None:
    text = re.sub(r"<!--.*?-->", "", (guides.FOLDER / f"{name}.md").read_text(), flags=re.DOTALL)
    site = markdown.markdown(text, extensions=EXTENSIONS)

    assert STRUCTURE.findall(site) == STRUCTURE.findall(guides.read_guide(name).html)


def test_extensions_are_those_of_the_site() -> None:
    configured = (Path(guides.FOLDER).parent / "mkdocs.yml").read_text()

    assert [each for each in EXTENSIONS if f"  - {each}" not in configured] == []
