"""Values in a URL look as OpenAPI says, and a server reads back what was sent."""

import json
from typing import Any
from urllib.parse import parse_qsl, unquote

from hypothesis import given
from hypothesis import strategies as st

from gateway.executors.http.parameter_styles import encode_query, format_pairs, format_path_value, format_simple
from tests.support.loops import for_each

COLORS = ["blue", "black", "brown"]
RGB = {"R": 100, "G": 200, "B": 150}

# The examples of the OpenAPI specification 3.1.1, section 4.8.12.5: style, explode, value, what is written.
PATHS = [
    ("simple", False, COLORS, "blue,black,brown"),
    ("simple", False, RGB, "R,100,G,200,B,150"),
    ("simple", True, RGB, "R=100,G=200,B=150"),
    ("label", False, COLORS, ".blue,black,brown"),
    ("label", True, COLORS, ".blue.black.brown"),
    ("label", False, RGB, ".R,100,G,200,B,150"),
    ("matrix", False, "blue", ";color=blue"),
    ("matrix", False, COLORS, ";color=blue,black,brown"),
    ("matrix", True, COLORS, ";color=blue;color=black;color=brown"),
    ("matrix", False, RGB, ";color=R,100,G,200,B,150"),
]
QUERIES = [
    ("form", True, "", "color="),
    ("form", True, "blue", "color=blue"),
    ("form", False, COLORS, "color=blue,black,brown"),
    ("form", True, COLORS, "color=blue&color=black&color=brown"),
    ("form", True, RGB, "R=100&G=200&B=150"),
    ("spaceDelimited", False, COLORS, "color=blue%20black%20brown"),
    ("pipeDelimited", False, COLORS, "color=blue%7Cblack%7Cbrown"),
    ("pipeDelimited", False, RGB, "color=R%7C100%7CG%7C200%7CB%7C150"),
    ("deepObject", True, RGB, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    ("deepObject", True, {"a": {"b": [1, 2]}, "c": None}, "color%5Ba%5D%5Bb%5D=1&color%5Ba%5D%5Bb%5D=2"),
    ("form", True, True, "color=true"),
    ("form", True, [], ""),
    ("form", True, {"a": None}, ""),
    ("form", True, [{"a": 1}, None], "color=%7B%22a%22%3A1%7D"),
]
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@for_each("style, explode, value, written", PATHS)
def test_path_value_is_written_in_its_style(style: str, explode: bool, value: Any, written: str) -> None:
    assert format_path_value("color", value, style, explode=explode) == written


@for_each("style, explode, value, written", QUERIES)
def test_query_value_is_written_in_its_style(style: str, explode: bool, value: Any, written: str) -> None:
    assert "&".join(format_pairs("color", value, style, explode=explode)) == written


def test_header_value_is_not_encoded() -> None:
    assert format_simple(["a b", "c/d"], explode=False, encoder=str) == "a b,c/d"


@given(name=texts, value=texts)
def test_reserved_characters_never_add_a_parameter(name: str, value: str) -> None:
    encoded = "&".join(format_pairs(name, value, "form", explode=True, encoder=encode_query))

    assert "#" not in encoded
    assert parse_qsl(encoded, keep_blank_values=True) == [(name, value)]


@given(values=st.lists(texts, min_size=1))
def test_list_is_read_back(values: list[str]) -> None:
    exploded = "&".join(format_pairs("n", values, "form", explode=True))
    assert [value for _, value in parse_qsl(exploded)] == values
    joined = format_pairs("n", values, "form", explode=False)[0].removeprefix("n=")
    assert [unquote(item) for item in joined.split(",")] == values
    assert [unquote(item) for item in format_path_value("n", values, "simple", explode=False).split(",")] == values
    matrix = format_path_value("n", values, "matrix", explode=True)
    assert [unquote(item) for item in matrix.removeprefix(";n=").split(";n=")] == values


@given(values=st.dictionaries(texts, texts, min_size=1))
def test_object_is_read_back(values: dict[str, str]) -> None:
    assert dict(parse_qsl("&".join(format_pairs("n", values, "form", explode=True)))) == values
    deep = parse_qsl("&".join(format_pairs("n", values, "deepObject", explode=True)))
    assert {name.removeprefix("n[").removesuffix("]"): value for name, value in deep} == values
    simple = format_path_value("n", values, "simple", explode=True)
    assert {
        unquote(name): unquote(value) for name, _, value in (each.partition("=") for each in simple.split(","))
    } == values


nested = st.recursive(texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=3)


@given(value=nested)
def test_value_within_a_list_is_json(value: Any) -> None:
    pairs = parse_qsl("&".join(format_pairs("n", [[value]], "form", explode=True)))

    assert json.loads(pairs[0][1]) == [value]
