"""Daily figures can be counted again, except on days whose events are no longer complete."""

from datetime import timedelta
from io import StringIO

import pytest
import time_machine
from django.core.management import CommandError, call_command

from analytics.events.models import OperationEvent
from analytics.rollups.models import OpDaily
from tests.support.rows.analytics_rows import NOON, run_until_done

pytestmark = pytest.mark.django_db


def test_recount_counts_the_clients_of_complete_days() -> None:
    for days_ago in (2, 1, 0):
        OperationEvent.objects.create(
            time=NOON - timedelta(days=days_ago, hours=1),
            type="exec",
            op="onto.task.get",
            tool_name="get_task",
            client="chat",
            ok=True,
            status=200,
            latency_ms=1,
            trace_id="tr_1",
        )
    run_until_done()
    OpDaily.objects.update(client="")  # as before clients were counted
    output = StringIO()

    with time_machine.travel(NOON, tick=False):
        call_command("recount_figures", stdout=output)

    figures = OpDaily.objects.order_by("day").values_list("day", "client", "calls")
    assert [(NOON.date() - day, client, calls) for day, client, calls in figures] == [
        (timedelta(days=2), "", 1),
        (timedelta(days=1), "chat", 1),
        (timedelta(0), "chat", 1),
    ]
    assert output.getvalue() == "Counted the figures again from 9 March 2026 on.\n"


def test_recount_needs_events() -> None:
    with pytest.raises(CommandError, match="no events"):
        call_command("recount_figures")
