"""Reading config/settings.py in this process, with other environment variables."""

import os
import runpy
from pathlib import Path
from typing import Any
from unittest import mock

from django.conf import settings

from config import env

PRODUCTION = {
    "GATEWAY_ENV": "production",
    "SECRET_KEY": "the secret key of a test, which is long enough",
    "GATEWAY_KEY_PEPPER": "the pepper of a test, which is long enough",
    "ALLOWED_HOSTS": "gateway.example.com",
    "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
}


def read_settings(variables: dict[str, str]) -> dict[str, Any]:
    """Return the names that config/settings.py defines in an environment of these variables, without .env."""
    with mock.patch.dict(os.environ, variables, clear=True), mock.patch.object(env, "load_env_file"):
        return runpy.run_path(str(Path(settings.BASE_DIR) / "config" / "settings.py"))
