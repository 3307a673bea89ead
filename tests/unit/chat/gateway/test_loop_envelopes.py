"""Loops in batches: the chat reads, asks about and shows each row as a call of its own."""

from typing import Any

from chat.gateway import envelopes

ID = "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b01"


def build_waiting(token: str) -> dict[str, Any]:
    details = {"reason": "confirmation_required", "confirmation": {"token": token, "operation": {"action": "delete"}}}
    return {"op": "x", "ok": False, "error": {"code": "CONFLICT", "message": "Ask.", "details": details}, "meta": {}}


DONE = {"op": "x", "ok": True, "result": {"task": {"id": ID, "title": "Find a venue"}}, "meta": {}}
LOOP = {
    "index": 1,
    "type": "exec",
    "op": "x",
    "ok": False,
    "items": [DONE, build_waiting("one"), build_waiting("two")],
    "error": {"code": "CONFLICT", "message": "Two wait.", "details": {"reason": "rows_failed"}},
    "meta": {"operation": {"entity": "task", "action": "update"}},
}
READ = {"index": 0, "type": "exec", "op": "y", "ok": True, "result": {"items": []}, "meta": {}}
BATCH = {"batch_id": "b", "ok": False, "results": [READ, LOOP]}


def test_rows_are_envelopes_with_their_operation() -> None:
    read, done, *waiting = envelopes.iter_envelopes(BATCH)

    assert read == READ
    assert done["meta"]["operation"] == {
        "entity": "task",
        "action": "update",
        "entity_id": ID,
        "entity_name": "Find a venue",
    }
    assert [envelopes.get_reason(each) for each in waiting] == ["confirmation_required"] * 2
    assert envelopes.get_status(BATCH) == "confirm"
    assert envelopes.get_tokens(BATCH) == {2: "one", 3: "two"}


def test_no_token_of_a_row_is_shown() -> None:
    shown = envelopes.remove_tokens(BATCH)

    assert envelopes.get_tokens(shown) == {2: "", 3: ""}
    assert shown["results"][0] == READ
    assert shown["results"][1]["items"][0] == DONE


def test_rows_that_wait_are_closed_and_the_others_keep_their_outcome() -> None:
    closed = envelopes.close_waiting(BATCH, lambda what: f"Not agreed: {what}.", "declined")

    assert [envelopes.get_reason(each) for each in envelopes.iter_envelopes(closed)] == ["", "", "declined", "declined"]
    assert closed["results"][1]["items"][1]["error"]["message"] == "Not agreed: delete the row."
