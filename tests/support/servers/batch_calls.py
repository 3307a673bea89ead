"""Batch entries for server processes, and waiting for batches."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2

from tests.support.servers.processes import PATIENCE, Server, eventually


def build_entry(op: str, **args: Any) -> dict[str, Any]:
    return {"type": "exec", "op": op, "args": args}


def build_keep_entry(title: str) -> dict[str, Any]:
    return {**build_entry("probe.keep", title=title), "idempotency_key": title.replace(" ", "-")}


def wait_until_done(server: Server, id: str, *, within: float = PATIENCE) -> dict[str, Any]:
    statuses: list[dict[str, Any]] = []

    def is_done() -> bool:
        with suppress(httpx2.TransportError):  # the web process was just killed
            statuses.append(server.batch_status(id))
        return bool(statuses) and statuses[-1]["status"] == "done"

    eventually(is_done, within=within, what="the batch's end")
    return statuses[-1]


def find_waiting_process(folder: Path) -> int:
    """Return the id of the process that waits in a probe handler."""
    there = eventually(
        lambda: [each.name for each in folder.iterdir() if each.name.isdigit()], within=20, what="the handler's start"
    )
    return int(there[0])
