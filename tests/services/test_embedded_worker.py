"""The worker in a web process: its queue dies with it, the rows do not."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from analytics.events.models import OperationEvent
from gateway.models import BatchEntry
from tests.support.servers.batch_calls import build_entry, find_waiting_process, wait_until_done
from tests.support.servers.processes import Server, kill_process
from tests.support.servers.production import VALID_VARIABLES, run_manage
from workspace.models import Task

pytestmark = pytest.mark.server


def send_background_batch(server: Server, *entries: dict[str, Any]) -> str:
    response = server.batch(*entries, mode="parallel", prefer="respond-async")
    assert response.status_code == 202, response.text
    return str(response.json()["batch_id"])


def test_entries_of_a_killed_web_process_run_once_in_another(server: Server, folder: Path) -> None:
    id = send_background_batch(
        server, build_entry("probe.add", folder=str(folder)), *[build_entry("probe.process")] * 3
    )
    kill_process(find_waiting_process(folder))
    (folder / "go").touch()

    assert wait_until_done(server, id, within=30)["ok"]
    assert BatchEntry.objects.get(batch_id=id, index=0).attempts == 2
    assert Task.objects.filter(title="Added").count() == 1


def test_stopping_server_finishes_its_running_entries(server: Server, folder: Path) -> None:
    (other := folder / "of the read").mkdir()
    read = send_background_batch(server, build_entry("probe.hold", folder=str(other)))
    find_waiting_process(other)
    # The write is the last: SQLite has one writer.
    write = send_background_batch(server, build_entry("probe.add", folder=str(folder)))
    find_waiting_process(folder)
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
    result = run_manage(
        "shell", "-c", "import threading; print([t.name for t in threading.enumerate()])", **VALID_VARIABLES
    )

    assert result.stdout.splitlines()[-1] == "['MainThread']"
