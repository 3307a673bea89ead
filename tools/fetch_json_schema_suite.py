"""Fetch the JSON Schema Test Suite, which we do not ship, into .venv: python -m tools.fetch_json_schema_suite.

The source distribution of jsonschema contains it. pip downloads that and compares its hash with requirements/suite.txt.
None of its code runs.
"""

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
FETCHED = ROOT / ".venv" / "json-schema-test-suite"
FOLDER = Path(os.environ.get("JSON_SCHEMA_TEST_SUITE") or FETCHED)  # or another checkout of the suite

PIP = "-m pip download --quiet --disable-pip-version-check --no-input --retries 1 --require-hashes --no-deps"
# Even with --no-deps, pip asks the build backend of a source distribution for its metadata. This backend answers.
BACKEND = """
import email, os, shutil
def prepare_metadata_for_build_wheel(folder, settings=None):
    with open("PKG-INFO", encoding="utf-8") as file:
        metadata = email.message_from_file(file)
    name = f"{metadata['Name']}-{metadata['Version']}.dist-info"
    os.mkdir(os.path.join(folder, name))
    shutil.copy("PKG-INFO", os.path.join(folder, name, "METADATA"))
    return name
"""


def main() -> int:
    """Fetch and unpack the suite. Return pip's exit code."""
    with TemporaryDirectory() as folder:
        backend = Path(folder, "hatchling", "build.py")
        backend.parent.mkdir()
        backend.write_text(BACKEND)
        command = [sys.executable, *PIP.split(), "--no-binary", ":all:", "--no-build-isolation", "--dest", folder]
        done = subprocess.run(
            [*command, "--requirement", str(ROOT / "requirements" / "suite.txt")],
            env=os.environ | {"PYTHONPATH": folder},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            _unpack(next(Path(folder).glob("*.tar.gz")))
        else:
            print(f"{done.stderr}The JSON Schema Test Suite could not be fetched. Its tests are skipped.", flush=True)
    return done.returncode


def _unpack(source: Path) -> None:
    """Unpack the archive's folder "json", which holds the test cases."""
    with tarfile.open(source) as archive:
        for member in archive:
            _, _, path = member.name.partition("/json/")
            if path and (file := archive.extractfile(member)):
                target = FETCHED / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(file.read())


if __name__ == "__main__":
    sys.exit(main())
