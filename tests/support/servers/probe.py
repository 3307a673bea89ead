"""An upstream for tests: it returns its process id, and waits in its handlers for the test."""

import os
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from core.handler_contract import OpHandler, OpOutcome, OpRequest
from core.manifest import Job
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Task

SLOW_JOB, QUICK_JOB = "probe.slow", "probe.quick"
MAX_WAIT = 90  # seconds until a waiting handler fails, because its test has
BRIEF_MS = 2_000  # the time limit of the op "count"

_FOLDER = {"type": "object", "properties": {"folder": {"type": "string"}}, "additionalProperties": False}
_MEETING = {
    "type": "object",
    "properties": {"folder": {"type": "string"}, "name": {"type": "string"}, "count": {"type": "integer"}},
    "additionalProperties": False,
}
_TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "additionalProperties": False}

# The ops of the probe, which test servers have in addition to the shipped catalog.
CONTENT: dict[str, Any] = {
    "format": 1,
    "groups": [{"path": "probe", "summary": "Ops of the tests"}],
    "ops": [
        {
            "op": f"probe.{name}",
            "tool_name": f"probe_{name}",
            "kind": kind,
            "summary": name,
            "parameters_schema": schema,
            "needs_subject": False,
            "connection": "probe",
            **({"entity": "task", "action": "create"} if name == "keep" else {}),
            **({"timeout_ms": BRIEF_MS} if name == "count" else {}),
        }
        for name, kind, schema in (
            ("process", "read", {"type": "object", "additionalProperties": False}),
            ("hold", "read", _FOLDER),
            ("meet", "read", _MEETING),
            ("count", "read", {"type": "object", "additionalProperties": False}),
            ("add", "write", _FOLDER),
            ("keep", "write", _TITLE),
        )
    ],
}


def process(request: OpRequest) -> OpOutcome:
    """Return the id of this process."""
    return OpOutcome({"pid": os.getpid()})


def hold(request: OpRequest) -> OpOutcome:
    """Wait as `wait_for_file` does."""
    wait_for_file(Path(request.args["folder"]))
    return OpOutcome({"pid": os.getpid()})


def count(request: OpRequest) -> OpOutcome:
    """Count the tasks. This op has little time."""
    return OpOutcome({"count": Task.objects.count()})


def add(request: OpRequest) -> OpOutcome:
    """Add a task named "Added" to the demo, then wait as `wait_for_file` does."""
    task = add_task(request, "Added")
    wait_for_file(Path(request.args["folder"]))
    return OpOutcome({"pid": os.getpid()}, entity_id=str(task.pk))


def meet(request: OpRequest) -> OpOutcome:
    """Wait until `count` calls run at once."""
    folder = Path(request.args["folder"])
    (folder / request.args["name"]).touch()
    until = time.monotonic() + MAX_WAIT
    while len(list(folder.iterdir())) < request.args["count"]:
        if time.monotonic() > until:
            raise TimeoutError("The other calls did not start.")
        time.sleep(0.01)
    return OpOutcome({"pid": os.getpid()})


def keep(request: OpRequest) -> OpOutcome:
    """Add a task with a title to the demo."""
    task = add_task(request, request.args["title"])
    return OpOutcome({"id": str(task.pk)}, entity_id=str(task.pk))


def add_task(request: OpRequest, title: str) -> Task:
    times = {"created_at": request.at, "updated_at": request.at}
    return Task.objects.create(project_id=DEMO_PROJECT_ID, title=title, created_by=request.subject, **times)


def wait_for_file(folder: Path) -> None:
    """Create a file named after this process in a folder, and wait until the file "go" exists."""
    (folder / str(os.getpid())).touch()
    until = time.monotonic() + MAX_WAIT
    while not (folder / "go").exists():
        if time.monotonic() > until:
            raise TimeoutError("The test did not create the file.")
        time.sleep(0.01)


def build_jobs(folder: Path) -> list[Job]:
    """Return jobs that create a file named after their process in a folder of theirs. The first waits for "go"."""

    def run_slowly(_: datetime) -> bool:
        wait_for_file(folder / SLOW_JOB)
        (folder / SLOW_JOB / "ended").touch()
        return False

    def run_quickly(_: datetime) -> bool:
        (folder / QUICK_JOB / str(os.getpid())).touch()
        return False

    for name in (SLOW_JOB, QUICK_JOB):
        (folder / name).mkdir(exist_ok=True)
    return [Job(SLOW_JOB, run_slowly, timedelta(hours=1)), Job(QUICK_JOB, run_quickly, timedelta(seconds=1))]


HANDLERS = {
    "probe_process": OpHandler(process),
    "probe_hold": OpHandler(hold),
    "probe_meet": OpHandler(meet),
    "probe_count": OpHandler(count),
    "probe_add": OpHandler(add),
    "probe_keep": OpHandler(keep),
}
