"""What each process loads at start."""

import subprocess
import sys

from django.conf import settings

START = """
import django, sys
django.setup()
from django.urls import get_resolver
get_resolver().url_patterns
print(sorted({"mcp", "wordllama"} & set(sys.modules)))
"""


def test_no_process_loads_libraries_that_it_may_not_need() -> None:
    started = subprocess.run(
        [sys.executable, "-c", START], cwd=settings.BASE_DIR, capture_output=True, text=True, check=True, timeout=120
    )

    assert started.stdout.splitlines()[-1] == "[]"
