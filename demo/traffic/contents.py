"""What the newest invented events say about their args and results, made from the examples of the live release."""

from collections.abc import Iterable
from typing import Any

from analytics.events.models import OperationEvent
from registry.catalog import cache

# What models search for before they call an op.
REQUESTS = {
    "onto.task.list": ("tasks due this week", "what is blocked", "overdue work"),
    "onto.task.search": ("find a task by its title", "task about the printers"),
    "onto.task.get": ("details of one task", "who works on it"),
    "onto.task.update": ("mark a task as done", "move the deadline", "change the priority"),
    "onto.task.create": ("add a task", "remind me to call the printers"),
    "onto.project.get": ("how is the relaunch going", "status of a project"),
    "onto.project.graph.get": ("what depends on what",),
    "onto.document.update": ("edit the meeting notes", "replace a paragraph"),
    "onto.document.search": ("notes about the relaunch", "find a document"),
    "onto.edge.link": ("this blocks that", "connect a risk to a task"),
    "cal.event.list": ("what is in my calendar", "meetings of next week"),
    "cal.event.create": ("book a meeting with Mia", "block two hours"),
    "util.web.search": ("look something up", "search the internet"),
}
OTHER_REQUESTS = ("snooze a task", "send an e-mail", "invite a guest", "archive a project")  # which no op does
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

    def build(self, event: dict[str, Any], following: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
        """Return {args, result} of an event; None if it has none. `following` are the later events of its turn."""
        if event["type"] == OperationEvent.Type.SEARCH:
            found = list(self._args)[: event.get("result_count") or 0]
            ops = (each["op"] for each in following if each["type"] == OperationEvent.Type.EXEC and each["ok"])
            requests = REQUESTS.get(next(ops, ""), OTHER_REQUESTS)
            query = requests[event["time"].second % len(requests)]
            return {"args": {"query": query}, "result": {"items": found}}
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
