"""Function lists as people export them: readable functions are parsed, and each unreadable one gets a reason."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.imports import openai
from registry.imports.openai import FunctionList, InvalidFunctionList, ProviderFormat
from tests.support.upstreams.tool_functions import build_function

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
PLAIN = {"name": "get_weather", "description": "Tells it", "parameters": SCHEMA}
ANTHROPIC = {"name": "get_weather", "description": "Tells it", "input_schema": SCHEMA}


def read(value: Any, form: ProviderFormat = ProviderFormat.OPENAI) -> FunctionList:
    return openai.parse_functions(value if isinstance(value, bytes) else json.dumps(value).encode(), form)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ([{"type": "function", "function": PLAIN}], ProviderFormat.OPENAI),
        ([{"type": "function", **PLAIN}], ProviderFormat.OPENAI),
        ([PLAIN], ProviderFormat.OPENAI),
        ({"tools": [PLAIN]}, ProviderFormat.OPENAI),
        ({"functions": [PLAIN]}, ProviderFormat.OPENAI),
        (PLAIN, ProviderFormat.OPENAI),
        ([ANTHROPIC], ProviderFormat.ANTHROPIC),
        ({"tools": [ANTHROPIC | {"type": "custom"}]}, ProviderFormat.ANTHROPIC),
    ],
)
def test_every_list_format_is_parsed(value: Any, form: ProviderFormat) -> None:
    function_list = read(value, form)

    assert function_list.functions == [openai.FunctionDefinition("get_weather", "Tells it", SCHEMA)]
    assert function_list.refusals == []


def test_json_lines_are_parsed_and_a_broken_line_is_reported() -> None:
    lines = [json.dumps(PLAIN), "", json.dumps(PLAIN | {"name": "b"}), '{"name": "broken", ']

    function_list = read("\n".join(lines).encode())

    assert [each.name for each in function_list.functions] == ["get_weather", "b"]
    assert [refusal.name for refusal in function_list.refusals] == ["broken"]


def test_text_is_the_list_as_a_model_receives_it() -> None:
    listed = [build_function("a", "é"), build_function("b")]

    assert read([*listed, {"type": "function"}]).text == json.dumps(listed, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"3", "must have a list"),
        (b"[]", "has no function"),
        (b"{}", "no name"),
        (json.dumps([ANTHROPIC]).encode(), "--format anthropic"),
    ],
)
def test_file_without_functions_is_refused_with_a_hint(raw: bytes, problem: str) -> None:
    with pytest.raises(InvalidFunctionList, match=problem):
        read(raw)


def test_anthropic_error_suggests_the_openai_format() -> None:
    with pytest.raises(InvalidFunctionList, match="--format openai"):
        read([PLAIN], ProviderFormat.ANTHROPIC)


def test_missing_description_is_empty() -> None:
    (function,) = read([{"name": "a", "description": None}]).functions

    assert (function.description, function.parameters) == ("", None)


@pytest.mark.parametrize(
    ("bad", "name", "reason"),
    [
        ({"description": "Nameless"}, "function 2", "no name"),
        ({"name": "  "}, "function 2", "no name"),
        ("text", "function 2", "not an object"),
        ({"name": "n" * 201}, "n" * 80, "longer than 200"),
        ({"name": "a\u202eb"}, "a\u202eb", "non-printable"),
        (build_function("good"), "good", "has the same name"),
        ({"type": "web_search_20250305", "name": "web"}, "web", "provider tool"),
        (ANTHROPIC, "get_weather", "--format anthropic"),
    ],
)
def test_unreadable_function_is_refused_without_the_others(bad: Any, name: str, reason: str) -> None:
    function_list = read([build_function("good"), bad, build_function("last")])

    assert [each.name for each in function_list.functions] == ["good", "last"]
    (refusal,) = function_list.refusals
    assert refusal.name == name
    assert reason in refusal.reason


@pytest.mark.parametrize("depth", [100, 5_000, 100_000])
@pytest.mark.parametrize("wrapped", [False, True])
def test_deeply_nested_function_is_refused_without_the_others(depth: int, wrapped: bool) -> None:
    deep = '{"name": "deep \\"[", "parameters": ' + '{"not":' * depth + "{}" + "}" * depth + "}"
    first, last = json.dumps(build_function("a", 'brackets ]}" in text')), json.dumps(build_function("b"))
    listed = f"[{first}, {deep}, {last}]"

    function_list = read((f'{{"model": {{"x": 1}}, "tools": {listed}}}' if wrapped else listed).encode())

    assert [each.name for each in function_list.functions] == ["a", "b"]
    assert "nested" in function_list.refusals[0].reason


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda within: (
        st.lists(within)
        | st.dictionaries(st.sampled_from(["name", "function", "parameters", "tools", "type", "x"]), within)
    ),
)


@given(ANYTHING)
def test_any_json_is_parsed_or_refused(value: Any) -> None:
    function_list = read([build_function("good"), value])

    assert "good" in [each.name for each in function_list.functions]
    assert len(function_list.functions) + len(function_list.refusals) == 2
