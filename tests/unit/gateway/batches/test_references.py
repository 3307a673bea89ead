"""References to earlier results: parsing, finding, resolving, and errors with the path of the reference."""

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


def build_reference(text: Any) -> dict[str, Any]:
    return {"$result": text}


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("0#/result/project/id", ResultReference(0, "/result/project/id")),
        ("12#", ResultReference(12, "")),
        ("3#/a~1b/~0c", ResultReference(3, "/a~1b/~0c")),
        ("0#/", ResultReference(0, "/")),
        ("01#/a", None),
        ("100#/a", None),
        ("0#a", None),
        ("#/a", None),
        ("0/a", None),
        (0, None),
    ],
)
def test_parse_accepts_only_valid_references(reference: Any, expected: ResultReference | None) -> None:
    assert ResultReference.parse(build_reference(reference)) == expected


def test_reference_with_other_keys_is_not_a_reference() -> None:
    assert ResultReference.parse(build_reference("0#/a") | {"more": 1}) is None


def test_references_are_found_at_any_depth() -> None:
    args = {"a": build_reference("0#/x"), "b": [{"c/d": build_reference("1#/y")}, 3]}

    assert [path for path, _ in references.find_references(args)] == ["/a", "/b/0/c~1d"]


def test_references_are_replaced_with_values() -> None:
    envelopes = {0: {"ok": True, "result": {"rows": [{"id": "one"}, {"id": "two"}], "a/b": {"~": 5}}}}
    args = {
        "id": build_reference("0#/result/rows/1/id"),
        "list": [build_reference("0#/result/rows"), build_reference("0#/result/a~1b/~0")],
        "kept": {"x": 1},
    }

    resolved = references.resolve_references(args, envelopes, most_bytes=10_000)

    assert resolved == {"id": "two", "list": [[{"id": "one"}, {"id": "two"}], 5], "kept": {"x": 1}}


@pytest.mark.parametrize(
    "pointer", ["/result/none", "/result/rows/2", "/result/rows/01", "/result/rows/-", "/result/rows/0/id/x", "/x"]
)
def test_missing_result_is_an_error_with_its_path(pointer: str) -> None:
    envelopes = {0: {"result": {"rows": [{"id": "one"}, {"id": "two"}]}}}

    with pytest.raises(UnresolvedReference) as error_info:
        references.resolve_references({"deep": [build_reference(f"0#{pointer}")]}, envelopes, most_bytes=10_000)

    [error] = error_info.value.errors
    assert (error.path, error.code) == ("/args/deep/0", "result_missing")
    assert pointer in error.message


def test_repeated_large_result_is_refused() -> None:
    with pytest.raises(UnresolvedReference) as error_info:
        references.resolve_references(
            {"all": [build_reference("0#/text")] * 50}, {0: {"text": "x" * 300}}, most_bytes=10_000
        )

    assert error_info.value.errors[0].code == "result_too_large"


@given(JSON)
def test_args_without_references_are_unchanged(value: Any) -> None:
    assert references.resolve_references({"value": value}, {}, most_bytes=0) == {"value": value}
    assert list(references.find_references({"value": value})) == []


@given(st.dictionaries(st.text(), JSON, min_size=1))
def test_every_key_can_be_referenced(result: dict[str, Any]) -> None:
    for name, value in result.items():
        pointer = "/" + name.replace("~", "~0").replace("/", "~1")
        reference = ResultReference.parse(build_reference(f"0#{pointer}"))
        if reference is not None:  # references cannot contain a newline
            assert references.resolve_references(
                {"x": build_reference(f"0#{pointer}")}, {0: result}, most_bytes=10**9
            ) == {"x": value}


def test_items_are_values_of_the_row_and_never_read_again() -> None:
    row = {"id": "one", "note": {"$result": "0#/ok", "$item": "/id"}}
    args = {"id": {"$item": "/id"}, "all": [{"$item": ""}], "ok": build_reference("0#/ok"), "note": {"$item": "/note"}}

    resolved = references.resolve_references(args, {0: {"ok": True}}, most_bytes=1_000, item=row)

    assert resolved == {"id": "one", "all": [row], "ok": True, "note": row["note"]}


def test_an_item_that_the_row_lacks_names_what_it_has() -> None:
    with pytest.raises(UnresolvedReference, match=r"The row has nothing at /task/title; /task has id, name\."):
        references.resolve_references(
            {"id": {"$item": "/task/title"}}, {}, most_bytes=1_000, item={"task": {"id": 1, "name": "a"}}
        )


def test_an_item_outside_a_loop_is_a_value_like_any_other() -> None:
    args = {"props": {"$item": 5}}

    assert references.resolve_references(args, {}, most_bytes=1_000) == args
