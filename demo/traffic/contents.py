"""What the newest invented events say about their args and results, made from the examples of the live release."""

from typing import Any

from analytics.events.models import OperationEvent
from registry.catalog import cache

REQUESTS = (
    "tasks due this week",
    "move the meeting with Mia",
    "notes about the relaunch",
    "what is blocked",
    "remind me to call the printers",
)
# What is sent instead of a value, by the code of the error that follows.
WRONG_VALUES = {"enum": "finished", "format": "tomorrow", "type": "high"}


class DemoContents:
    """Makes contents of events. The same event gets the same."""

    def __init__(self) -> None:
        try:
            ops = cache.get_live_catalog().ops
        except cache.NoLiveRelease:
            ops = {}
        self._args = {path: op.examples[0]["args"] for path, op in ops.items() if op.examples}

    def build(self, event: dict[str, Any], number: int) -> dict[str, Any] | None:
        """Return {args, result} of an event, the number-th of its turn; None if it has none."""
        if event["type"] == OperationEvent.Type.SEARCH:
            found = list(self._args)[: event.get("result_count") or 0]
            return {"args": {"query": REQUESTS[number % len(REQUESTS)]}, "result": {"items": found}}
        if event["type"] != OperationEvent.Type.EXEC or event["op"] not in self._args:
            return None
        args = dict(self._args[event["op"]])
        if event["ok"]:
            return {"args": args, "result": {"message": "Done."}}
        for pointer, code in event.get("field_errors", ()):
            name = pointer.lstrip("/")
            if code == "required":
                args.pop(name, None)
            else:
                args[name] = WRONG_VALUES.get(code, "?")
        return {"args": args}
