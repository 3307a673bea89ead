"""Record calls that failed before an op was known: their envelope, their event and their metric labels."""

from typing import Any

from analytics.events import event_log
from analytics.models import OperationEvent
from core.metrics import CallLabels
from gateway.contracts import envelopes
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import GatewayError
from gateway.recording import call_events
from gateway.request_context import Caller


def record_failed_call(
    event_type: OperationEvent.Type, error: GatewayError, *, caller: Caller | None, trace: Trace, name: str
) -> tuple[dict[str, Any], CallLabels]:
    """Return the envelope of a failed call and its metric labels. Records its event if the caller is known.

    `name` is the path or op as it was sent.
    """
    envelope = envelopes.build_failure(None, error, envelopes.build_meta(trace))
    if caller is not None:
        event = call_events.build_event(
            event_type, caller=caller, trace=trace, name=name, status=error.status, error=envelope["error"]
        )
        event_log.enqueue_event(event)
    return envelope, call_events.build_metric_labels(event_type, error=envelope["error"])
