"""Request help while releases change, for BENCH_RELEASES_SECONDS (600): python -m tools.mixed_releases.

The benchmark of the same name only reports. This command fails if any answer mixed two releases or failed.
"""

import json
import os
import subprocess
import sys

from tools.databases import ROOT, VAR

RESULT = VAR / "bench.json"


def main() -> int:
    """Run the benchmark of changing releases and return the exit code."""
    environment = {"BENCH_RELEASES_SECONDS": "600"} | os.environ
    subprocess.run([sys.executable, "-m", "benchmarks.run", "releases"], cwd=ROOT, env=environment, check=True)
    figures = {figure["name"]: figure["value"] for figure in json.loads(RESULT.read_text())}
    return 1 if any(value for name, value in figures.items() if name.startswith("releases.")) else 0


if __name__ == "__main__":
    sys.exit(main())
