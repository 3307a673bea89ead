"""A gateway that answers each op with one result, and contexts that are loaded from it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from chat.context.layers import Place
from chat.context.service import Context, Layer, load_context

WEBSITE, HOMEPAGE = "0d9a4c1e-5b7f-4e2a-9c31-6f8e2b7d1a01", "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b01"
AT = datetime(2026, 3, 4, 22, 30, tzinfo=UTC)  # in Berlin, a Wednesday, half past eleven in the evening
PROJECT = Place("project", project_id=WEBSITE)
TASK = Place("task", project_id=WEBSITE, entity_id=HOMEPAGE)
CALENDAR, GLOBAL = Place("calendar"), Place("global")
PLACES = (PROJECT, TASK, CALENDAR, GLOBAL)

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

    def __init__(self) -> None:
        self.results: dict[str, Any] = {"util.profile.get": {"profile": PROFILE}}
        self.batches: list[list[Mapping[str, Any]]] = []

    def answer(self, op: str, result: Any) -> "GatewayAnswers":
        """Set the result of an op, or a function of its args. Returns itself."""
        self.results[op] = result
        return self

    def __call__(self, entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        self.batches.append(list(entries))
        return [self._answer_entry(entry) for entry in entries]

    def _answer_entry(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        result = self.results.get(entry["op"], EMPTY_LISTS)
        result = result(entry["args"]) if callable(result) else result
        if result is None:
            return {"op": entry["op"], "ok": False, "error": NOT_FOUND}
        return {"op": entry["op"], "ok": True, "result": result}


def load(answers: GatewayAnswers, place: Place, **toolset: Any) -> Context:
    """Load the context of a place, and check the budgets of its layers."""
    context = load_context(answers, place=place, toolset={**GATEWAY_TOOLSET, **toolset}, at=AT)
    assert [layer.name for layer in context.layers] == ["system", "profile", "location", "related"]
    for layer in context.layers:
        assert layer.tokens <= layer.budget, layer
    return context


def get_layer(context: Context, name: str) -> Layer:
    return next(layer for layer in context.layers if layer.name == name)


def read_layer(answers: GatewayAnswers, place: Place, layer: str = "location") -> str:
    """Load the context of a place and return the text of one layer."""
    return get_layer(load(answers, place), layer).text


def make_project(**fields: Any) -> Mapping[str, Any]:
    counts = {"task_count": 24, "active_task_count": 20, "completed_task_count": 4, "completion_percentage": 17}
    return {"project": {"id": WEBSITE, "name": "Website relaunch", "state_key": "active", **counts, **fields}}


def make_task(**fields: Any) -> Mapping[str, Any]:
    row = {"id": HOMEPAGE, "title": "Draft the copy", "state_key": "todo", "priority": 1, "project_id": WEBSITE}
    return {"task": {**row, "project_name": "Website relaunch", "subtasks": [], "links": [], **fields}}


def make_row(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": f"00000000-0000-4000-8000-{number:012}", "title": f"Row {number}", "priority": 2, **fields}
