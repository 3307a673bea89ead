"""How the runs of the conformance suite of MCP are judged."""

import json
from pathlib import Path

from tools import conformance

EXPECTED = {"tools": frozenset({"echo"}), "ping": frozenset({"pong"})}


def write_checks(output: Path, scenario: str, **statuses: str) -> None:
    folder = output / f"server-{scenario}-2026-11-25T18-26-45-567Z"
    folder.mkdir(parents=True)
    checks = [{"id": name, "status": status} for name, status in statuses.items()]
    (folder / "checks.json").write_text(json.dumps(checks))


def test_results_tell_expected_failures_from_others(tmp_path: Path) -> None:
    write_checks(tmp_path, "tools", echo="FAILURE", wire="SUCCESS", other="WARNING")
    write_checks(tmp_path, "ping", pong="SUCCESS", note="INFO")
    write_checks(tmp_path, "polling", session="SKIPPED")

    results = conformance.read_results("2026-07-28", tmp_path, EXPECTED)

    outcomes = {result.name: (result.outcome, result.passed) for result in results}
    assert outcomes == {
        "ping": ("passed", ["pong"]),
        "polling": ("not applicable", []),
        "tools": ("FAILED: other", ["wire"]),
    }
    assert conformance.find_unneeded_entries(results, EXPECTED) == [
        "ping:pong is listed in expected_failures.yaml and does not fail. Remove it."
    ]


def test_every_expected_failure_names_a_check_and_has_a_reason() -> None:
    lines = conformance.EXPECTED_FAILURES.read_text().splitlines()
    entries = [line for line in lines if line.startswith("  - ")]

    assert all(line.count(":") >= 1 and " # " in line for line in entries)
    assert sum(map(len, conformance.read_expected_failures().values())) == len(entries)
