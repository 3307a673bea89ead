"""Calls on the demo workspace of the current database. Every call is a dry run."""

from dataclasses import replace
from typing import Any, cast
from uuid import uuid4

from gateway.access.request_context import UserContext
from gateway.contracts.envelopes import Trace
from gateway.execution import dry_runs, pipeline
from workspace.demo import DEMO_SUBJECT

Envelope = dict[str, Any]


def send_call(body: dict[str, Any], *, context: UserContext | None = None) -> Envelope:
    """Return the envelope that answers the demo user's call."""
    trace = Trace(f"tr_{uuid4().hex}")
    caller = replace(dry_runs.build_caller(DEMO_SUBJECT, "bench", trace), context=context or UserContext())
    return cast(Envelope, pipeline.execute(body=body | {"dry_run": True}, caller=caller, trace=trace).envelope)
