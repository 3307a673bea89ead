import pytest

from gateway.contracts import request_schemas


@pytest.mark.parametrize(
    ("key", "is_valid"),
    [
        ("x" * 255, True),
        ("!~", True),
        ("", False),
        ("x" * 256, False),
        ("a b", False),
        ("ä", False),
        ("a\n", False),
    ],
)
def test_idempotency_key_is_visible_ascii(key: str, is_valid: bool) -> None:
    assert request_schemas.get_key_validator().is_valid(key) is is_valid
    assert request_schemas.get_exec_validator().is_valid({"op": "x", "idempotency_key": key}) is is_valid
