"""Strategies for JSON values."""

from hypothesis import strategies as st

from core.text.json_text import MAX_INTEGER

ORDINARY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
ORDINARY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | ORDINARY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ORDINARY_TEXT, inner),
    max_leaves=30,
)
