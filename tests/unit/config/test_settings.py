"""Settings as documented: every variable is in .env.example, and nothing else is."""

import re
from itertools import pairwise
from pathlib import Path

from django.conf import settings
from django.utils.module_loading import import_string

ROOT = Path(settings.BASE_DIR)
READ_ELSEWHERE = {"PORT"}  # by manage.py start


def _read_in_settings() -> set[str]:
    source = (ROOT / "config/settings.py").read_text()
    return set(re.findall(r'(?:env\.\w+|read_\w+)\(\s*"([A-Z_]+)"', source))


def _listed() -> set[str]:
    return set(re.findall(r"^([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def test_env_example_lists_every_variable_and_no_other() -> None:
    assert _listed() == _read_in_settings() | READ_ELSEWHERE


def test_env_example_says_what_each_variable_sets() -> None:
    lines = (ROOT / ".env.example").read_text().splitlines()
    assert [
        line for said, line in pairwise(lines) if "=" in line and not line.startswith("#") and said[:1] != "#"
    ] == []


def test_follows_and_warms_are_all_importable_functions() -> None:
    assert all(callable(import_string(path)) for path in [*settings.GATEWAY_FOLLOWS, *settings.GATEWAY_WARMS])
