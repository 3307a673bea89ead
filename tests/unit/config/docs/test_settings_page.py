"""docs/reference/settings.md has every variable, and fails to be written if the sources differ."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from config.docs import settings_page
from config.docs.settings_page import SettingsDiffer

ROOT = Path(settings.BASE_DIR)
SETTINGS = 'A = env.read_number("A", default=2, least=1, most=1_000)\nB = env.read_choice("B", choices=["x", "y"])\n'
EXAMPLE = "# Intro.\n\n# --- First ---\n\n# How many.\n# Really.\nA=2\nPORT=8000\n\n# --- Second ---\n\n# Which.\nB=\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/settings.py").write_text(SETTINGS)
    (tmp_path / ".env.example").write_text(EXAMPLE)
    return tmp_path


def test_page_has_type_default_and_meaning_of_each_variable(root: Path) -> None:
    page = settings_page.render_page(root, "")

    assert "## First\n" in page
    assert "| `A` | number from 1 to 1,000 | `2` | How many. Really. |" in page
    assert "## Second\n" in page
    assert "| `B` | choice: x, y |  | Which. |" in page


@pytest.mark.parametrize(
    ("file", "old", "new", "sentence"),
    [
        (".env.example", "A=2", "", ".env.example does not describe A, which config/settings.py reads."),
        (".env.example", "B=", "B=\nC=", "config/settings.py does not read C, which .env.example describes."),
        ("config/settings.py", '"B"', '"D"', ".env.example does not describe D, which config/settings.py reads."),
    ],
)
def test_page_is_not_written_if_a_variable_is_missing(root: Path, file: str, old: str, new: str, sentence: str) -> None:
    path = root / file
    path.write_text(path.read_text().replace(old, new))

    with pytest.raises(SettingsDiffer, match=re.escape(sentence)):
        settings_page.render_page(root, "")


def test_variables_of_tools_are_on_the_page() -> None:
    read = re.compile(r'os\.environ(?:\.get\(|\[)"([A-Z_]+)"')
    names = {name for path in (ROOT / "tools").glob("*.py") for name in read.findall(path.read_text())}
    page = settings_page.render_page(ROOT, "")

    assert {name for name in names if f"| `{name}` |" not in page} == set()
    assert len(names) > 4
