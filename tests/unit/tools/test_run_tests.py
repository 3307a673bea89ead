"""How a run of the suite is counted."""

from pathlib import Path

import pytest

from tools import run_tests
from tools.run_tests import Run

REPORT = """<testsuites><testsuite>
<testcase classname="tests.unit.test_a" name="test_fast" time="0.5"/>
<testcase classname="tests.unit.test_a" name="test_slow[x]" time="3.25"><failure message="no"/></testcase>
<testcase classname="tests.unit.test_b" name="test_left_out" time="1.0"><skipped message="Skipped: needs npm"/>
</testcase>
</testsuite></testsuites>"""


def test_outcome_lists_the_slowest_tests_and_modules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "junit.xml").write_text(REPORT)
    run = Run(name="SQLite")

    run_tests._count(run, tmp_path / "junit.xml")
    run_tests._print_outcome([run, Run(name="PostgreSQL")])

    assert (run.passed, run.failed, run.left_out) == (1, 1, {"needs npm": 1})
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["3.2", "tests.unit.test_a::test_slow[x]"] in printed
    assert ["3.8", "tests.unit.test_a"] in printed
    assert printed.index(["3.8", "tests.unit.test_a"]) < printed.index(["1.0", "tests.unit.test_b"])
    assert not any("PostgreSQL," in words for words in printed)  # nothing ran there
