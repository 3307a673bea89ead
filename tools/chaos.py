"""Run the crash tests and the outages of events for a long time, on both databases: python -m tools.chaos [--seed N].

Without --seed, a random one is used and printed. The same seed gives the same crash points, keys and batches.
"""

import argparse
import os
import random
import sys

from tools import run_tests

CRASH_TESTS = ["tests/services/test_crashes.py", "tests/services/test_event_outages.py"]


def main(arguments: list[str]) -> int:
    """Parse the arguments and return the exit code. Unknown arguments go to pytest."""
    parser = argparse.ArgumentParser(prog="make chaos", description="Kill processes during keyed writes.")
    parser.add_argument("--seed", type=int, default=random.getrandbits(32))
    parser.add_argument("--points", type=int, default=40, help="number of killed processes")
    parser.add_argument("--writes", type=int, default=2_500, help="keyed writes for each killed process")
    parser.add_argument("--outage-seconds", type=int, default=30, help="twice this without a database")
    parser.add_argument("--calls", type=int, default=1_000, help="calls a second meanwhile")
    parser.add_argument("--broker", choices=["redis", "rabbitmq"], default="redis")
    known, others = parser.parse_known_args(arguments)
    for name in ("seed", "points", "writes", "outage_seconds", "calls", "broker"):
        os.environ[f"CRASH_{name.upper()}"] = str(getattr(known, name))
    print(f"Seed {known.seed}: {known.points} points, {known.writes:,} writes each", flush=True)
    return run_tests.main([*CRASH_TESTS, "-n0", "--hypothesis-profile=thorough", *others])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
