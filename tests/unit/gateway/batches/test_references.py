"""References into earlier results: found, read, filled in; what is not there is told with its place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.batches import references
from gateway.batches.references import ResultReference, UnresolvedReference

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text().filter(lambda name: name != "$result"), inner)
    ),
    max_leaves=12,
)


def to(place: Any) -> dict[str, Any]:
    return {"$result": place}


@pytest.mark.parametrize(
    ("place", "read"),
    [
        ("0#/result/project/id", ResultReference(0, "/result/project/id")),
        ("12#", ResultReference(12, "")),
        ("3#/a~1b/~0c", ResultReference(3, "/a~1b/~0c")),
        ("0#/", ResultReference(0, "/")),
        ("01#/a", None),
        ("-1#/a", None),
        ("100#/a", None),
        ("0#a", None),
        ("0#/a~2", None),
        ("#/a", None),
        ("0/a", None),
        ("", None),
        (0, None),
        (None, None),
    ],
)
def test_form_of_a_reference(place: Any, read: ResultReference | None) -> None:
    assert ResultReference.parse(to(place)) == read


def test_nothing_stands_beside_a_reference() -> None:
    assert ResultReference.parse(to("0#/a") | {"more": 1}) is None


def test_references_are_found_at_any_depth() -> None:
    args = {"a": to("0#/x"), "b": [{"c/d": to("1#/y")}, 3]}

    assert [path for path, _ in references.find_references(args)] == ["/a", "/b/0/c~1d"]


def test_references_become_values() -> None:
    envelopes = {0: {"ok": True, "result": {"rows": [{"id": "one"}, {"id": "two"}], "a/b": {"~": 5}}}}
    args = {"id": to("0#/result/rows/1/id"), "list": [to("0#/result/rows"), to("0#/result/a~1b/~0")], "kept": {"x": 1}}

    found = references.resolve_references(args, envelopes, most_bytes=10_000)

    assert found == {"id": "two", "list": [[{"id": "one"}, {"id": "two"}], 5], "kept": {"x": 1}}


@pytest.mark.parametrize(
    "pointer", ["/result/none", "/result/rows/2", "/result/rows/01", "/result/rows/-", "/result/rows/0/id/x", "/x"]
)
def test_what_is_not_there_is_told(pointer: str) -> None:
    envelopes = {0: {"result": {"rows": [{"id": "one"}, {"id": "two"}]}}}

    with pytest.raises(UnresolvedReference) as missing:
        references.resolve_references({"deep": [to(f"0#{pointer}")]}, envelopes, most_bytes=10_000)

    [error] = missing.value.errors
    assert (error.path, error.code) == ("/args/deep/0", "result_missing")
    assert pointer in error.message


def test_a_large_result_named_again_and_again_is_refused() -> None:
    with pytest.raises(UnresolvedReference) as missing:
        references.resolve_references({"all": [to("0#/text")] * 50}, {0: {"text": "x" * 300}}, most_bytes=10_000)

    assert missing.value.errors[0].code == "result_too_large"


@given(JSON)
def test_args_without_references_stay_as_they_are(value: Any) -> None:
    assert references.resolve_references({"value": value}, {}, most_bytes=0) == {"value": value}
    assert list(references.find_references({"value": value})) == []


@given(st.dictionaries(st.text(), JSON, min_size=1))
def test_every_key_can_be_pointed_at(result: dict[str, Any]) -> None:
    for name, value in result.items():
        pointer = "/" + name.replace("~", "~0").replace("/", "~1")
        reference = ResultReference.parse(to(f"0#{pointer}"))
        if reference is not None:  # a newline is no part of a pointer's text as we read it
            assert references.resolve_references({"x": to(f"0#{pointer}")}, {0: result}, most_bytes=10**9) == {
                "x": value
            }
