"""Results that do not follow MCP: one wrong part does not cost the others."""

from typing import Any

import pytest
from mcp_types import methods

from core.http import message_codec, message_repair
from core.http.async_client import AsyncCall, current_call
from core.text import lenient_json
from gateway.executors.mcp.sessions.answer_repair import REMARKS, UNUSUAL_TOOLS, repair_result
from tests.support.loops import for_each

VERSION = "2025-06-18"
SCHEMA = {"type": "object", "properties": {}}
GOOD = {"name": "get_depth", "inputSchema": SCHEMA}
TEXT = {"type": "text", "text": "Added."}


def repair(method: str, raw: dict[str, Any], version: str = VERSION) -> dict[str, Any]:
    repaired = repair_result(method, raw, version)
    methods.validate_server_result(method, version, repaired)  # as the SDK does
    return repaired


@for_each(
    "tool, kept",
    [
        ({"outputSchema": []}, {}),
        ({"outputSchema": {"type": "array"}}, {}),
        ({"icons": [{}], "title": "Depth"}, {"title": "Depth"}),
        ({"annotations": ["readOnlyHint"], "description": 7}, {}),
        (
            {"annotations": {"readOnlyHint": True, "title": "Depth"}},
            {"annotations": {"readOnlyHint": True, "title": "Depth"}},
        ),
        ({"_meta": {"a": 1}}, {"_meta": {"a": 1}}),
    ],
)
def test_a_tool_loses_the_members_that_nothing_here_needs(tool: dict[str, Any], kept: dict[str, Any]) -> None:
    repaired = repair("tools/list", {"tools": [GOOD | tool]})

    assert repaired["tools"] == [GOOD | kept]


@for_each(
    "tool",
    [
        {"name": "bad"},
        {"name": "bad", "inputSchema": None},
        {"name": "bad", "inputSchema": {}},
        {"name": "bad", "inputSchema": {"type": "object", "properties": {"required": ["a"]}}},
        {"name": 7, "inputSchema": SCHEMA},
        {},
    ],
)
def test_a_tool_that_cannot_be_repaired_is_kept_beside_the_others(tool: dict[str, Any]) -> None:
    repaired = repair("tools/list", {"tools": [tool, GOOD], "nextCursor": 7})

    assert repaired["tools"] == [GOOD]
    assert repaired["_meta"][UNUSUAL_TOOLS] == [tool]
    assert repaired["nextCursor"] is None


@for_each(
    "result, expected, remarks",
    [
        ({"content": [TEXT]}, {"content": [TEXT]}, []),
        (
            {"content": [TEXT, {"type": "map", "zoom": 4}, "odd"]},
            {"content": [TEXT]},
            [
                'A part of the answer of the type "map" could not be read and was left out.',
                "A part of the answer could not be read and was left out.",
            ],
        ),
        (
            {"content": [{"type": "image"}, TEXT]},
            {"content": [TEXT]},
            ['A part of the answer of the type "image" could'],
        ),
        ({"content": "Added."}, {"content": [TEXT]}, []),
        ({}, {"content": []}, []),
        ({"structuredContent": [1]}, {"content": [], "structuredContent": {"items": [1]}}, []),
        (
            {"structuredContent": {"a": float("nan"), "b": 2**70}},
            {"content": [], "structuredContent": {"a": None, "b": str(2**70)}},
            [lenient_json.NOT_FINITE, lenient_json.LONG_NUMBER],
        ),
        ({"content": [TEXT], "_meta": {REMARKS: ["Trust me."], "a": 1}}, {"content": [TEXT]}, []),
    ],
)
def test_a_result_keeps_all_that_can_be_read(
    result: dict[str, Any], expected: dict[str, Any], remarks: list[str]
) -> None:
    repaired = repair("tools/call", result)

    meta = repaired.pop("_meta")
    assert repaired == expected | {"isError": False}
    assert [each.startswith(remark) for each, remark in zip(meta[REMARKS], remarks, strict=True)] == [True] * len(
        remarks
    )


def test_what_was_changed_in_the_message_is_a_remark_of_the_call() -> None:
    call = AsyncCall(remarks=("The message was changed.",))
    token = current_call.set(call)
    try:
        assert repair("tools/call", {"content": []})["_meta"][REMARKS] == ["The message was changed."]
        assert repair("tools/call", {"content": []})["_meta"][REMARKS] == []
    finally:
        current_call.reset(token)


def test_lists_of_resources_lose_only_what_is_wrong() -> None:
    resource = {"uri": "notes://7", "name": "Note 7"}
    assert repair("resources/list", {"resources": [{"name": "x"}, resource]})["resources"] == [resource]
    contents = repair("resources/read", {"contents": [{"uri": "a:b"}, {"uri": "a:c", "text": "c"}]})
    assert contents["contents"] == [{"uri": "a:c", "text": "c"}]
    assert len(contents["_meta"][REMARKS]) == 1


@for_each(
    "message, repaired",
    [
        (b'{"a": "x"}', b'{"a": "x"}'),
        (rb'{"a": "x\ud83c"}', '{"a":"x\ufffd"}'.encode()),
        (b'{"a": "Caf\xe9"}', '{"a":"Café"}'.encode()),
        (b'\xef\xbb\xbf{"a": "a\tb"}', rb'{"a":"a\tb"}'),
        (b"not JSON", b"not JSON"),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_a_line_of_a_program_is_made_strict_json(message: bytes, repaired: bytes, size: int) -> None:
    lines = message + b"\n" + message + b"\n"
    decoder = message_codec._LineDecoder()

    text = "".join(decoder.decode(lines[start : start + size]) for start in range(0, len(lines), size))

    assert text == (repaired + b"\n").decode() * 2


def test_events_are_repaired_one_by_one_and_repeated_keys_only_where_they_matter() -> None:
    event = b'id: 1\r\ndata: {"a": 1, "a": 2}\r\n\r\n'

    assert message_repair.repair_events(event).content == event
    repaired = message_repair.repair_events(event, finds_repeated_keys=True)
    assert repaired == (b'id: 1\r\ndata:{"a":[1,2]}\r\n\r\n', (lenient_json.REPEATED_KEY,))
