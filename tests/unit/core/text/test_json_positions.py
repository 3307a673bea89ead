import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import json_text

TEXT = '{\n  "type": "object",\n  "properties": {"a/b": {"enum": ["x", {"y": null}]}, "~": []}\n}'


def test_iter_offsets_yields_the_offset_of_names_and_items() -> None:
    offsets = dict(json_text.iter_offsets(TEXT))

    assert {pointer: TEXT[offset:].split(":")[0][:5] for pointer, offset in offsets.items()} == {
        "": '{\n  "',
        "/type": '"type',
        "/properties": '"prop',
        "/properties/a~1b": '"a/b"',
        "/properties/a~1b/enum": '"enum',
        "/properties/a~1b/enum/0": '"x", ',
        "/properties/a~1b/enum/1": '{"y"',
        "/properties/a~1b/enum/1/y": '"y"',
        "/properties/~0": '"~"',
    }


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def list_pointers(value: object, pointer: str = "") -> set[str]:
    paths = {pointer}
    steps = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for step, part in steps:
        paths |= list_pointers(part, f"{pointer}/{str(step).replace('~', '~0').replace('/', '~1')}")
    return paths


@given(values, st.sampled_from([None, 0, 1, 4]), st.booleans())
def test_iter_offsets_covers_every_value_of_any_json(value: object, indent: int | None, ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)

    assert {pointer for pointer, _ in json_text.iter_offsets(text)} == list_pointers(value)
    assert json_text.find_duplicate_key(text) is None


@pytest.mark.parametrize(
    ("pointer", "line"),
    [("/properties/a~1b/enum/0", 3), ("/properties/gone/type", 3), ("/gone", 1), ("/type", 2), ("", 1)],
)
def test_find_offset_of_a_missing_path_is_its_nearest_parent(pointer: str, line: int) -> None:
    assert json_text.get_line_and_column(TEXT, json_text.find_offset(TEXT, pointer))[0] == line


@pytest.mark.parametrize(
    ("text", "at"), [('{"a": 1,\n "a": 2}', (2, 2)), ('{"a": 1, "b": {"a": 1}}', None), ('[{"a": 1}, {"a": 1}]', None)]
)
def test_find_duplicate_key_finds_a_repeated_name(text: str, at: tuple[int, int] | None) -> None:
    offset = json_text.find_duplicate_key(text)

    assert (json_text.get_line_and_column(text, offset) if offset is not None else None) == at
