"""Find dead links in Markdown: python -m tools.links. Works offline: it does not open web addresses.

It reads every Markdown file of the project, also those that the site of docs/ does not include.
"""

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pymdownx.slugs import slugify

from tools.drift import ROOT, list_committed_files

# The anchor of a heading, by GitHub's rule. mkdocs.yml names the same function for the site.
make_anchor = slugify(case="lower")


def find_dead_links(root: Path, paths: list[str]) -> list[str]:
    """Return a sentence for each link or picture, in Markdown files below root, that leads nowhere."""
    return [
        f"{path}:{line} links to {target}, which does not exist."
        for path in paths
        for line, target in _find_targets(root / path)
        if not _exists(root / path, target)
    ]


def _find_targets(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line of the paragraph, address) of each link and picture."""
    for token in _parse(path):
        for child in token.children or []:
            if target := child.attrGet("href") or child.attrGet("src"):
                yield (token.map or [0])[0] + 1, str(target)


def _exists(path: Path, target: str) -> bool:
    address = urlsplit(target)
    if address.scheme:
        return True
    file = path.parent / unquote(address.path) if address.path else path
    if not file.exists():
        return False
    return not address.fragment or file.suffix != ".md" or address.fragment in _list_anchors(file)


def _list_anchors(path: Path) -> set[str]:
    tokens = _parse(path)
    texts = [tokens[number + 1] for number, token in enumerate(tokens) if token.type == "heading_open"]
    return {make_anchor("".join(child.content for child in text.children or []), "-") for text in texts}


@functools.cache
def _parse(path: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(path.read_text())


def main() -> int:
    """Check all Markdown files, print the problems, and return the exit code."""
    problems = find_dead_links(ROOT, [path for path in list_committed_files() if path.endswith(".md")])
    print("\n".join(problems) or "No dead links.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
