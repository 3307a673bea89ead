"""Running commands with production settings."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

from django.conf import settings

VALID_VARIABLES = {
    "GATEWAY_ENV": "production",
    "SECRET_KEY": secrets.token_urlsafe(50),
    "GATEWAY_KEY_PEPPER": secrets.token_urlsafe(32),
    "ALLOWED_HOSTS": "gateway.example.com",
    "DATABASE_URL": "sqlite://:memory:",
}


def run_manage(*command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run manage.py with only these variables and PATH."""
    return run_python("manage.py", *command, **variables)


def run_python(*command: str, folder: Path = settings.BASE_DIR, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run Python in a folder, by default the project's, with only these variables and PATH."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
