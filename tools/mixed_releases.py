"""Request help while releases change, for BENCH_RELEASES_SECONDS (600): python -m tools.mixed_releases.

It fails if any answer mixed two releases or failed: the goal of both figures is none.
"""

import os
import subprocess
import sys

from tools.databases import ROOT


def main() -> int:
    """Run the benchmark of changing releases and return its exit code."""
    environment = {"BENCH_RELEASES_SECONDS": "600"} | os.environ
    command = [sys.executable, "-m", "benchmarks.run", "releases"]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
