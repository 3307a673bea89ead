"""JSON of our own rows and answers: nothing that parses is lost or changed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text import json_text
from tests.support.values.json_samples import ORDINARY_JSON


@given(ORDINARY_JSON | st.integers(-(10**40), 10**40) | st.lists(st.floats(1e15, 1e23)))
def test_text_reads_back_as_the_value(value: Any) -> None:
    text = json_text.dump(value)

    assert json_text.load(text) == json_text.load(text.decode()) == value


def test_half_a_surrogate_is_written_as_its_escape() -> None:
    assert json_text.dump(["\ud800ü"]) == '["\\ud800ü"]'.encode()
    assert json.loads(json_text.dump(["\ud800"])) == ["\ud800"]


@pytest.mark.parametrize("value", [object(), {1: 2}, [{"a": {1, 2}}]])
def test_what_is_no_json_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        json_text.dump(value)
