"""The worker in a web process: its queue dies with it, the rows do not."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from analytics.models import OperationEvent
from gateway.models import BatchEntry
from tests.support.servers.batch_calls import call, done, standing_still
from tests.support.servers.processes import Server
from tests.support.servers.production import GOOD, manage
from workspace.models import Task

pytestmark = pytest.mark.server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "probe"
    folder.mkdir()
    return folder


def in_the_background(server: Server, *entries: dict[str, Any]) -> str:
    answer = server.batch(*entries, mode="parallel", prefer="respond-async")
    assert answer.status_code == 202, answer.text
    return str(answer.json()["batch_id"])


def test_entries_of_a_killed_web_process_are_run_once_by_another(server: Server, folder: Path) -> None:
    id = in_the_background(server, call("probe.add", folder=str(folder)), *[call("probe.process")] * 3)
    os.kill(standing_still(folder), signal.SIGKILL)
    (folder / "go").touch()

    assert done(server, id, within=30)["ok"]
    assert BatchEntry.objects.get(batch_id=id, index=0).attempts == 2
    assert Task.objects.filter(title="Added").count() == 1


def test_server_that_is_told_to_stop_finishes_the_entries_that_it_runs(server: Server, folder: Path) -> None:
    (other := folder / "of the read").mkdir()
    read = in_the_background(server, call("probe.hold", folder=str(other)))
    standing_still(other)
    write = in_the_background(server, call("probe.add", folder=str(folder)))  # the last: SQLite has one writer
    standing_still(folder)
    server.process.inner.send_signal(signal.SIGTERM)
    time.sleep(0.5)  # in which it is told
    for each in (folder, other):
        (each / "go").touch()

    assert server.process.wait() == 0
    for id in (write, read):
        entry = BatchEntry.objects.get(batch_id=id)
        assert (entry.state, entry.outcome, entry.attempts) == ("done", "succeeded", 1)
    assert Task.objects.filter(title="Added").count() == 1
    assert OperationEvent.objects.filter(op="probe.hold", ok=True).count() == 1


def test_command_starts_no_worker() -> None:
    told = manage("shell", "-c", "import threading; print([t.name for t in threading.enumerate()])", **GOOD)

    assert told.stdout.splitlines()[-1] == "['MainThread']"
