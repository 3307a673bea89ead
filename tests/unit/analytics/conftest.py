"""A fixture that writes events."""

from datetime import datetime
from typing import Any

import pytest
from django.db import connection

from analytics.events import event_log
from tests.support.rows.analytics_rows import WriteEvent


@pytest.fixture
def write_event(db: None) -> WriteEvent:
    """Return a function that writes an event at a time: a successful call of onto.task.update, unless fields differ.

    `times` writes the event several times. With a `code` the call has failed.
    """

    def write(time: datetime, *, times: int = 1, **fields: Any) -> None:
        values = {"type": "exec", "op": "onto.task.update", "tool_name": "update_onto_task", "release": "r1"} | fields
        values = {"ok": not values.get("code"), "status": 200, "latency_ms": 2.0, "trace_id": "tr_1"} | values
        with connection.cursor() as cursor:
            event_log._bulk_insert(cursor, [event_log.build_event(time=time, **values)] * times)

    return write
