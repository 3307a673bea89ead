"""Events at any time, for what is counted from them."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.db import connection

from analytics.events import event_log

Happen = Callable[..., None]


@pytest.fixture
def happen(db: None) -> Happen:
    """Write an event at a time: a call of onto.task.update that succeeded, unless fields say otherwise.

    `times` writes it more than once; `code` says how it failed.
    """

    def write(time: datetime, *, times: int = 1, **fields: Any) -> None:
        said = {"type": "exec", "op": "onto.task.update", "tool_name": "update_onto_task", "release": "r1"} | fields
        said = {"ok": not said.get("code"), "status": 200, "latency_ms": 2.0, "trace_id": "tr_1"} | said
        with connection.cursor() as cursor:
            event_log._bulk_insert(cursor, [event_log.build_event(time=time, **said)] * times)

    return write
