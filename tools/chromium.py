"""The browser of the tests and of the recording in the README."""

import os
import shutil

# Debian's names. The shell is Chromium without windows: tabs take a fifth less CPU time.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser")


def find_chromium() -> str:
    """Return the path of Chromium: $CHROMIUM, or the first of its programs on PATH. Empty if there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), "")
