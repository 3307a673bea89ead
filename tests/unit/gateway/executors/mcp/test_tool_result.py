"""What tools answer as a result: structure, data in texts, and texts that a structure does not repeat."""

from types import SimpleNamespace
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

from core.text import json_text, lenient_json
from gateway.executors.mcp.tool_result import ReadToolResult, read_result
from tests.support.loops import for_each

ROWS = [{"id": 0}, {"id": 1}]


def read(*texts: str, structure: Any = None, **meta: Any) -> ReadToolResult:
    work: Any = SimpleNamespace(client_id=0)
    content = [TextContent(type="text", text=text) for text in texts]
    return read_result(CallToolResult(content=content, structured_content=structure, _meta=meta or None), work)


@for_each(
    "texts, result",
    [
        (['[{"id": 0}, {"id": 1}]'], {"items": ROWS}),
        (['{"id": 0}', '{"id": 1}'], {"items": ROWS}),  # as servers in Python write a list
        (['{"id": 0}\n{"id": 1}'], {"items": ROWS}),
        (['{"id": 0}'], {"id": 0}),
        (["4"], {"text": "4"}),
        (["true", "7"], {"text": "true\n\n7"}),
        (['{"id": 0}', "Two more."], {"text": '{"id": 0}\n\nTwo more.'}),
        (["[draft] not JSON"], {"text": "[draft] not JSON"}),
        ([], {"message": "Done."}),
    ],
)
def test_json_in_texts_is_data(texts: list[str], result: dict[str, Any]) -> None:
    assert read(*texts) == ReadToolResult(result)


@for_each(
    "texts, structure, result",
    [
        (["Boat 2 is overdue."], {"boats": 3}, {"boats": 3, "text": "Boat 2 is overdue."}),
        (['{"boats":  3}'], {"boats": 3}, {"boats": 3}),
        (["3"], {"result": 3}, {"result": 3}),
        (["Hello"], {"result": "Hello"}, {"result": "Hello"}),
        (['{"id": 0}', '{"id": 1}'], {"result": ROWS}, {"result": ROWS}),
        (['[{"id": 0}, {"id": 1}]'], {"items": ROWS}, {"items": ROWS}),
        (["", " "], {"boats": 3}, {"boats": 3}),
        (["See the note."], {"text": "short"}, {"text": "short", "Text": "See the note."}),
    ],
)
def test_a_text_beside_a_structure_is_kept_unless_it_repeats_it(
    texts: list[str], structure: Any, result: dict[str, Any]
) -> None:
    assert read(*texts, structure=structure) == ReadToolResult(result)


def test_a_resource_that_is_json_is_data() -> None:
    resource = TextResourceContents(uri="a:b", text='[{"id": 0}]', mime_type="application/json")
    result = CallToolResult(content=[EmbeddedResource(type="resource", resource=resource)])

    work: Any = SimpleNamespace(client_id=0)
    assert read_result(result, work).result == {"content": [{"resource": "a:b", "data": [{"id": 0}]}]}


def test_remarks_say_what_was_changed() -> None:
    assert read("Good morning \ufffd").remarks == (lenient_json.BAD_CHARACTER,)
    assert read('{"a": NaN}').remarks == (lenient_json.NOT_FINITE,)
    assert read("x", **{"tool-gateway/remarks": ["Changed."]}).remarks == ("Changed.",)


TEXTS = st.text('{}[]",:\\ud83c01NaN. \n\0', max_size=30) | st.text(max_size=20)


@given(st.lists(TEXTS, max_size=3), st.none() | st.dictionaries(TEXTS, TEXTS | st.floats(), max_size=3))
def test_any_result_is_strict_json(texts: list[str], structure: Any) -> None:
    result = read(*texts, structure=structure).result

    orjson.loads(json_text.dump(result))
    json_text.check_value(result, json_text.ANSWER_LIMITS)
