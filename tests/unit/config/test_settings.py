"""Every environment variable of the settings is documented in .env.example, and no other one."""

import re
from itertools import pairwise
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
READ_ELSEWHERE = {"PORT"}  # read by manage.py start


def _find_variables_in_settings() -> set[str]:
    source = (ROOT / "config/settings.py").read_text()
    return set(re.findall(r'(?:env\.\w+|read_\w+)\(\s*"([A-Z_]+)"', source))


def _find_variables_in_example() -> set[str]:
    return set(re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def test_env_example_lists_every_variable_and_no_other() -> None:
    assert _find_variables_in_example() == _find_variables_in_settings() | READ_ELSEWHERE


def test_env_example_describes_each_variable() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    assert [
        line for previous, line in pairwise(lines) if "=" in line and not line.startswith("#") and previous[:1] != "#"
    ] == []
