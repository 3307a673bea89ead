"""Follow a call that runs in the background at the gateway: show its progress, and cancel it if the user stops."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from chat.gateway.client import GatewayAnswer, GatewayClient, GatewayUnavailable
from core.http import Abort

MOST_SECONDS = 300.0
POLL_SECONDS = 1.0
ACCEPTED = 202
STOP_SECONDS = 5.0  # for a call to end after it was cancelled

ShowProgress = Callable[[Mapping[str, Any]], None]


def follow(gateway: GatewayClient, accepted: GatewayAnswer, abort: Abort, show: ShowProgress) -> GatewayAnswer:
    """Return the answer to a call, whose batch the gateway has accepted. `show` gets {done?, total?, message?}.

    Raises GatewayUnavailable if the call does not end in time, so that its outcome is not known.
    """
    status, until, is_cancelled = accepted, time.monotonic() + MOST_SECONDS, False
    shown: Any = None
    path = f"batches/{accepted.body['batch_id']}"
    while time.monotonic() < until:
        entry = (status.body.get("results") or [{}])[0]
        if "ok" in entry:
            body = {name: value for name, value in entry.items() if name not in ("index", "type")}
            return GatewayAnswer(200, body, status.hint)
        if (progress := entry.get("progress")) and progress != shown:
            show(progress)
            shown = progress
        if abort.is_set and not is_cancelled:
            is_cancelled, until = True, time.monotonic() + STOP_SECONDS
            status = gateway.call("DELETE", path, None, seconds=10)
            continue
        started = time.monotonic()
        status = gateway.call("GET", f"{path}?wait=1", None, seconds=10)
        time.sleep(max(0.0, POLL_SECONDS - (time.monotonic() - started)) if _is_open(status) else 0.0)
    raise GatewayUnavailable("the call did not end in time")


def _is_open(status: GatewayAnswer) -> bool:
    return "ok" not in (status.body.get("results") or [{}])[0]
