"""Batches sent to a server, and waiting for them."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2

from tests.support.servers.processes import Server, eventually


def call(op: str, **args: Any) -> dict[str, Any]:
    return {"type": "exec", "op": op, "args": args}


def keep(title: str) -> dict[str, Any]:
    return {**call("probe.keep", title=title), "idempotency_key": title.replace(" ", "-")}


def done(server: Server, id: str, *, within: float) -> dict[str, Any]:
    """Return the status of a batch once it is done."""
    found: list[dict[str, Any]] = []

    def is_done() -> bool:
        with suppress(httpx2.TransportError):  # of a web process that was killed this moment
            found.append(server.batch_status(id))
        return bool(found) and found[-1]["status"] == "done"

    eventually(is_done, within=within, what="the batch's end")
    return found[-1]


def standing_still(folder: Path) -> int:
    """Return the process that stands still in a handler of the probe."""
    there = eventually(
        lambda: [each.name for each in folder.iterdir() if each.name.isdigit()], within=20, what="its begin"
    )
    return int(there[0])
