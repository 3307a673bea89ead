"""The WSGI application can be loaded by any server, as the first module of ours."""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings


def test_application_loads_in_a_new_process(tmp_path: Path) -> None:
    variables = {"DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}", "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}

    result = subprocess.run(
        [sys.executable, "-c", "from config.wsgi import application; print(callable(application))"],
        cwd=settings.BASE_DIR,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.stdout == "True\n", result.stderr
