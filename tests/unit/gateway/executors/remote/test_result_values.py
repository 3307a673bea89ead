"""Values of answers, as a model gets them."""

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from core.text.lenient_json import LenientReader
from gateway.executors.remote.result_values import clean_parsed_value, clean_value

TEXTS = st.text('ab \n\t\\"é\u200b\u202e\x01\x7f', max_size=8)
VALUES = st.recursive(TEXTS | st.none(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=5)


@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
@example("\u200b", True, None)
@example({"a\x01": "b\x7f"}, False, None)
def test_one_look_at_the_text_finds_what_is_to_be_cleaned(value: Any, is_ascii: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent)

    assert clean_parsed_value(value, text, LenientReader()) == clean_value(value, LenientReader())
