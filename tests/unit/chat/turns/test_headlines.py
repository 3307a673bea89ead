"""The line of a card, in words for people."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from chat.turns.headlines import build_headline, is_empty

BERLIN = ZoneInfo("Europe/Berlin")


def build_answer(entity: str, action: str, result: Any, **names: str) -> dict[str, Any]:
    return {"ok": True, "result": result, "meta": {"operation": {"entity": entity, "action": action, **names}}}


def build_error(message: str, reason: str = "", *paths: str) -> dict[str, Any]:
    details = {"reason": reason, "field_errors": [{"path": path} for path in paths]}
    return {"ok": False, "error": {"code": "VALIDATION_ERROR", "message": message, "details": details}}


ONE = {
    "tasks": [{"title": "Call Ana"}],
    "total": 1,
    "has_more": False,
    "message": "1 of 1. onto.task.get has all of it.",
}
MANY = {"tasks": [{}] * 20, "total": 31, "has_more": True}
NONE = {"projects": [], "total": 0, "message": "0 of 0 projects with any of the words, because none has all of them."}
MOVED = "Changed “Call Ana”: state_key in_progress → done; due_at 2026-12-02T17:00:00Z → 2026-12-04T17:00:00Z."
CREATED = {"project": {"name": "Offsite"}, "message": "Created “Offsite” with 3 tasks, 1 document and 3 edges."}


@pytest.mark.parametrize(
    ("args", "answer", "headline"),
    [
        # what is asked for, while the call runs
        ({"op": "x", "args": {"query": "venue"}}, None, "“venue”"),
        ({"path": "onto.task"}, None, "“onto.task”"),
        ({"query": ["not a text"]}, None, ""),
        # rows
        ({}, build_answer("task", "search", ONE), "1 task found"),
        ({}, build_answer("task", "list", MANY), "20 of 31 tasks"),
        ({}, build_answer("project", "search", NONE), "No projects found"),
        ({}, build_answer("task", "get", {"task": {"title": "Call Ana"}}), "“Call Ana”"),
        ({}, {"ok": True, "result": [{}, {}]}, "2 rows"),
        ({}, {"ok": True, "result": {"open_orders": [{}]}}, "1 open order"),
        # writes: that they were done is said below the answer
        (
            {},
            build_answer("task", "update", {"task": {}, "message": MOVED}, entity_name="Call Ana"),
            "state in progress → done; due 2 Dec 18:00 → 4 Dec 18:00",
        ),
        ({}, build_answer("project", "create", CREATED, entity_name="Offsite"), "“Offsite”"),
        # help
        ({}, {"type": "search", "query": "late", "items": [{}, {}]}, "2 tools found for “late”"),
        ({}, {"type": "search", "query": "late", "items": []}, "No tools found for “late”"),
        ({}, {"type": "group", "path": "root"}, "Looked at what can be done"),
        ({}, {"type": "op", "path": "onto.task.list"}, "Read how to use onto.task.list"),
        # errors
        ({}, build_error("Invalid.", "invalid_args", "/status", "/due_at", "/status"), "Wrong or missing: status, due"),
        ({}, build_error("Send one.", "no_change", ""), "Send one."),
        ({}, build_error("Connect a calendar. cal.event.list needs one.", "not_connected"), "Connect a calendar."),
        ({}, build_error("onto.task.delete failed.", "other"), "onto.task.delete failed."),
        ({}, build_error("The user did not agree.", "declined"), "You said no. Nothing was done."),
        # other answers
        ({}, {"result": {"message": "Read 3 pages. util.page.visit reads more."}}, "Read 3 pages."),
        ({}, {"result": {"message": "At 2026-11-25T09:30:00Z"}}, "At 25 Nov 10:30"),
        ({}, {"result": {"message": "At 2026-11-25T09:30"}}, "At 25 Nov 09:30"),  # it is the user's time
        ({}, {"result": {"message": "At 2026-13-25T09:30Z"}}, "At 2026-13-25T09:30Z"),  # no month
        ({}, {"result": {"message": {"not": "a text"}}}, ""),
        ({}, {"result": {"message": "x" * 200}}, "x" * 139 + "…"),
        (
            {},
            {"batch_id": "b", "results": [build_answer("task", "list", ONE), build_error("Gone.")]},
            "1 task · Gone.",
        ),
    ],
)
def test_headline_says_what_came_back_or_what_is_asked_for(
    args: dict[str, Any], answer: dict[str, Any] | None, headline: str
) -> None:
    assert build_headline(args, answer, BERLIN) == headline


def test_answer_without_rows_is_empty() -> None:
    assert is_empty(build_answer("project", "search", NONE))
    assert is_empty({"type": "search", "query": "late", "items": []})
    for answer in (build_answer("task", "search", ONE), build_error("No."), build_answer("task", "get", {}), None):
        assert not is_empty(answer)
