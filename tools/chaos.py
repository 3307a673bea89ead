"""Runs the crash runner for long, on both databases: python -m tools.chaos [--seed N] [--points N] [--writes N] ...

Without --seed one is drawn; it is printed with the outcome, and the same one makes the same points, keys and batches.
"""

import argparse
import os
import random
import sys

from tools import run_tests

OF_RUNNER = "tests/services/test_crashes.py"


def main(arguments: list[str]) -> int:
    """Read the arguments and return the exit code; what is not known here goes to pytest."""
    parser = argparse.ArgumentParser(prog="make chaos", description="Kill processes under keyed writes.")
    parser.add_argument("--seed", type=int, default=random.getrandbits(32))
    parser.add_argument("--points", type=int, default=40, help="how often a process dies")
    parser.add_argument("--writes", type=int, default=2_500, help="keyed writes for each of them")
    parser.add_argument("--broker", choices=["redis", "rabbitmq"], default="redis")
    known, others = parser.parse_known_args(arguments)
    for name in ("seed", "points", "writes", "broker"):
        os.environ[f"CRASH_{name.upper()}"] = str(getattr(known, name))
    print(f"Seed {known.seed}: {known.points} points, {known.writes:,} writes each", flush=True)
    return run_tests.main([OF_RUNNER, "-n0", *others])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
