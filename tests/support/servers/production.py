"""Running commands with production settings."""

import os
import secrets
import subprocess
import sys

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


def run_python(*command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run Python in the project's folder with only these variables and PATH."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=settings.BASE_DIR,
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
