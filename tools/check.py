"""Runs what CI runs beside the tests, every step whatever the others say: python -m tools.check."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# What each step is called, and what follows "python" in its command. None of them changes a file of ours.
STEPS = {
    "lint": ["-m", "ruff", "check"],
    "format": ["-m", "ruff", "format", "--check"],
    "types": ["-m", "mypy"],
    "import direction": ["-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-logo"],
    "migrations": ["manage.py", "makemigrations", "--check", "--dry-run"],
    "generated docs": ["manage.py", "docs", "--check"],
    "requirements": ["-m", "tools.drift", "requirements"],
    "registry hosts": ["-m", "tools.drift", "hosts"],
    "class names": ["-m", "tools.drift", "classes"],
}

# makemigrations asks the database for its history; an empty one in memory spares it a file or a server.
ENVIRONMENT = os.environ | {"DATABASE_URL": "sqlite://:memory:"}


def main() -> int:
    """Run all steps, their output going straight through; return 1 where one failed."""
    failed = []
    for name, command in STEPS.items():
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, *command], cwd=ROOT, env=ENVIRONMENT, check=False).returncode != 0:
            failed.append(name)
    print(f"\nFailed: {', '.join(failed)}." if failed else f"\nAll {len(STEPS)} steps passed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
