import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core import metrics
from tests.support.metric_values import value


def test_a_call_is_counted_by_type_kind_code_and_reason() -> None:
    labels = {"type": "exec", "kind": "read", "code": "NOT_FOUND", "reason": "unknown_op"}
    before = value("gateway_calls_total", **labels)

    metrics.count_call(("exec", "read", "NOT_FOUND", "unknown_op"), seconds=0.003)

    assert value("gateway_calls_total", **labels) == before + 1


def test_a_call_is_timed_by_type_and_kind() -> None:
    labels = {"type": "help", "kind": "timed"}

    for seconds in (0.0004, 0.003, 40):
        metrics.count_call(("help", "timed", "OK", ""), seconds=seconds)

    assert value("gateway_call_seconds_count", **labels) == 3
    assert value("gateway_call_seconds_sum", **labels) == pytest.approx(40.0034)
    assert value("gateway_call_seconds_bucket", **labels, le="0.001") == 1
    assert value("gateway_call_seconds_bucket", **labels, le="0.005") == 2
    assert value("gateway_call_seconds_bucket", **labels, le="30.0") == 2


def test_reasons_that_an_upstream_makes_up_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_reasons", set())
    metrics._get_call_metrics.cache_clear()

    for number in range(metrics.MAX_REASONS + 20):
        metrics.count_call(("exec", "made-up", "CONFLICT", f"reason_{number}"), seconds=0.001)

    text = metrics.render_metrics().decode()
    assert text.count('gateway_calls_total{code="CONFLICT",kind="made-up"') == metrics.MAX_REASONS + 1
    assert value("gateway_calls_total", text, type="exec", kind="made-up", code="CONFLICT", reason="other") == 20
    metrics._get_call_metrics.cache_clear()


COUNT = """
import os, sys
from core import metrics
for _ in range(3):
    metrics.count_call(("exec", "write", "OK", ""), seconds=0.01)
metrics.EVENTS_BUFFERED.set(5)
metrics.LAST_POLL.set(int(sys.argv[1]))
if "ends" not in sys.argv:
    print(metrics.render_metrics().decode())
"""


def run(folder: Path, *arguments: str) -> str:
    environment: dict[str, Any] = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)}
    command = [sys.executable, "-c", COUNT, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_processes_are_added_up_and_gauges_of_dead_ones_left_out(tmp_path: Path) -> None:
    run(tmp_path, "100", "ends")

    text = run(tmp_path, "200")

    assert value("gateway_calls_total", text, type="exec", kind="write", code="OK", reason="") == 6
    assert value("gateway_events_buffered", text) == 5
    assert value("gateway_followed_timestamp_seconds", text) == 200
