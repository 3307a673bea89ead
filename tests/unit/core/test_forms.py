import pytest
from django.core.exceptions import ValidationError

from core.forms import StrictJSONField


@pytest.mark.parametrize(
    "text", ["NaN", "1e999", '"\\ud800"', '"\\u0000"', "9" * 5_000, "[" * 2_000 + "]" * 2_000, "{"]
)
def test_json_that_could_not_be_kept_is_refused_and_shown_again(text: str) -> None:
    field = StrictJSONField()

    with pytest.raises(ValidationError, match=r"\."):
        field.clean(text)
    assert field.prepare_value(field.bound_data(text, None)) == text


def test_json_is_shown_as_a_person_edits_it() -> None:
    field = StrictJSONField()

    assert field.clean('{"a": "Größe"}') == {"a": "Größe"}
    assert field.prepare_value({"a": "Größe"}) == '{\n  "a": "Größe"\n}'
