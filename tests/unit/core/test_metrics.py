import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from core import metrics
from tests.support.clients.metric_values import read_metric


def test_call_is_counted_and_timed_by_its_labels() -> None:
    for seconds in (0.0004, 0.003, 40):
        metrics.count_call(("help", "timed", "NOT_FOUND", "unknown_path"), seconds=seconds)

    labels = {"type": "help", "kind": "timed"}
    assert read_metric("gateway_calls_total", **labels, code="NOT_FOUND", reason="unknown_path") == 3
    assert read_metric("gateway_call_seconds_count", **labels) == 3
    assert read_metric("gateway_call_seconds_sum", **labels) == pytest.approx(40.0034)
    assert read_metric("gateway_call_seconds_bucket", **labels, le="0.001") == 1
    assert read_metric("gateway_call_seconds_bucket", **labels, le="0.005") == 2
    assert read_metric("gateway_call_seconds_bucket", **labels, le="30.0") == 2


def test_unknown_upstream_reasons_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics.render_metrics()  # counts what other tests have left, whose reasons would take places
    monkeypatch.setattr(metrics, "_reasons", set())
    metrics._get_call_metrics.cache_clear()

    for number in range(metrics.MAX_REASONS + 20):
        metrics.count_call(("exec", "made-up", "CONFLICT", f"reason_{number}"), seconds=0.001)

    text = metrics.render_metrics().decode()
    assert text.count('gateway_calls_total{code="CONFLICT",kind="made-up"') == metrics.MAX_REASONS + 1
    assert read_metric("gateway_calls_total", text, type="exec", kind="made-up", code="CONFLICT", reason="other") == 20
    metrics._get_call_metrics.cache_clear()


COUNT_SCRIPT = """
import os, sys
from core import metrics
from prometheus_client import Gauge
for _ in range(3):
    metrics.count_call(("exec", "write", "OK", ""), seconds=0.01)
Gauge("gateway_events_buffered", "Waiting", multiprocess_mode="livesum").set(5)
metrics.LAST_POLL.set(int(sys.argv[1]))
if "exit" not in sys.argv:
    print(metrics.render_metrics().decode())
"""


def run_count_script(folder: Path, *arguments: str) -> str:
    environment: dict[str, Any] = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(folder)}
    command = [sys.executable, "-c", COUNT_SCRIPT, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_counters_are_summed_over_processes_and_gauges_of_dead_ones_dropped(tmp_path: Path) -> None:
    run_count_script(tmp_path, "100", "exit")

    text = run_count_script(tmp_path, "200")

    assert read_metric("gateway_calls_total", text, type="exec", kind="write", code="OK", reason="") == 6
    assert read_metric("gateway_events_buffered", text) == 5
    assert read_metric("gateway_last_poll_timestamp_seconds", text) == 200


def test_metrics_create_their_folder_in_a_command_that_runs_before_any_server(tmp_path: Path) -> None:
    folder = tmp_path / "metrics"

    subprocess.run(
        [sys.executable, "-c", "import django; django.setup(); import core.metrics"],
        cwd=settings.BASE_DIR,
        env=os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(folder)},
        check=True,
    )

    assert list(folder.iterdir())
