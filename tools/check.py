"""Run every check that CI runs besides the tests: python -m tools.check."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Stands for a temporary folder in the arguments of a step.
FOLDER = "{folder}"

# The arguments of Python for each step. No step changes a file of the project.
STEPS = {
    "lint": ["-m", "ruff", "check"],
    "format": ["-m", "ruff", "format", "--check"],
    "types": ["-m", "mypy"],
    "import direction": ["-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-logo"],
    "migrations": ["manage.py", "makemigrations", "--check", "--dry-run"],
    "generated docs": ["manage.py", "docs", "--check"],
    "docs site": ["-m", "mkdocs", "build", "--strict", "--site-dir", FOLDER],
    "links": ["-m", "tools.links"],
    "changelog": ["-m", "towncrier", "build", "--draft", "--version", "next"],
    "requirements": ["-m", "tools.drift", "requirements"],
    "registry hosts": ["-m", "tools.drift", "hosts"],
    "class names": ["-m", "tools.drift", "classes"],
    "structure": ["-m", "tools.drift", "structure"],
    "scripts": ["-m", "tools.drift", "scripts"],
}

# makemigrations reads the migration history from the database. An empty one in memory needs no file and no server.
# The theme of the docs would print a notice about its successor.
ENVIRONMENT = os.environ | {"DATABASE_URL": "sqlite://:memory:", "NO_MKDOCS_2_WARNING": "1"}


def main() -> int:
    """Run all steps, also after one has failed. Return the exit code: 1 if any failed."""
    failed = []
    for name, command in STEPS.items():
        print(f"== {name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            arguments = [folder if each == FOLDER else each for each in command]
            if subprocess.run([sys.executable, *arguments], cwd=ROOT, env=ENVIRONMENT, check=False).returncode != 0:
                failed.append(name)
    print(f"\nFailed: {', '.join(failed)}." if failed else f"\nAll {len(STEPS)} steps passed.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
