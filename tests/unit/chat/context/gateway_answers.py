"""A gateway that answers each op with one result, in the form of the embedded workspace."""

from collections.abc import Mapping, Sequence
from typing import Any

WEBSITE, HOMEPAGE = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01", "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b01"
EMPTY_LISTS = {"projects": [], "tasks": [], "documents": [], "milestones": [], "events": []}
NOT_FOUND = {"code": "NOT_FOUND", "message": "There is none.", "details": {"reason": "not_found"}}

PROFILE = {
    "name": "Lena Hoffmann",
    "time_zone": "Europe/Berlin",
    "working_hours": {
        **{day: ["09:00-12:30", "13:30-17:30"] for day in ("monday", "tuesday", "wednesday", "thursday")},
        "friday": ["09:00-13:00"],
    },
    "preferences": {"focus": "mornings"},
}

GATEWAY_TOOLSET = {
    "surface": "gateway",
    "tools": [{"type": "function", "function": {"name": name}} for name in ("tool_help", "tool_exec", "tool_batch")],
    "prompt": "How to act\nUse tool_help and tool_exec.",
    "tokens": 800,
}


class GatewayAnswers:
    """A batch call. An op without a result answers empty lists; an op whose result is None fails with NOT_FOUND."""

    def __init__(self, **results: Any) -> None:
        self.results = {"util.profile.get": {"profile": PROFILE}}
        self.batches: list[list[Mapping[str, Any]]] = []

    def answer(self, op: str, result: Any) -> "GatewayAnswers":
        """Set the result of an op. A list of rows is set by its key."""
        self.results[op] = result
        return self

    def __call__(self, entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Answer a batch."""
        self.batches.append(list(entries))
        return [self._answer_entry(entry) for entry in entries]

    def _answer_entry(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        result = self.results.get(entry["op"], EMPTY_LISTS)
        result = result(entry["args"]) if callable(result) else result
        if result is None:
            return {"op": entry["op"], "ok": False, "error": NOT_FOUND}
        return {"op": entry["op"], "ok": True, "result": result}
