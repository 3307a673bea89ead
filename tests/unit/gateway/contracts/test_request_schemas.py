import pytest
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from gateway.contracts import request_schemas
from gateway.contracts.errors import InvalidRequestError

requests = RequestFactory()


@given(st.binary(min_size=1))
def test_read_of_any_bytes_is_an_object_or_invalid(raw: bytes) -> None:
    request = requests.generic("POST", "/", raw, "application/json")

    try:
        body = request_schemas.read_json_object(request)
    except InvalidRequestError as error:
        assert error.status == 400  # noqa: PT017 - either outcome is right
    else:
        assert isinstance(body, dict)


@pytest.mark.parametrize("length", ["", "0", "10"])
def test_check_size_takes_what_is_small_enough(settings: object, length: str) -> None:
    settings.GATEWAY_BODY_MAX_BYTES = 10  # type: ignore[attr-defined]

    request_schemas.check_size(requests.generic("POST", "/", CONTENT_LENGTH=length))


@pytest.mark.parametrize("length", ["11", "-1", "1e1", "x", "²", " 1"])
def test_check_size_refuses_what_is_not(settings: object, length: str) -> None:
    settings.GATEWAY_BODY_MAX_BYTES = 10  # type: ignore[attr-defined]

    with pytest.raises(InvalidRequestError) as error:
        request_schemas.check_size(requests.generic("POST", "/", CONTENT_LENGTH=length))

    assert (error.value.status, error.value.reason) == (413, "too_large")


@pytest.mark.parametrize(
    ("key", "good"),
    [
        ("x", True),
        ("x" * 255, True),
        ("!~", True),
        ("", False),
        ("x" * 256, False),
        ("a b", False),
        ("ä", False),
        ("a\n", False),
    ],
)
def test_key_is_visible_ascii(key: str, good: bool) -> None:
    assert request_schemas.get_key_validator().is_valid(key) is good
    assert request_schemas.get_exec_validator().is_valid({"op": "x", "idempotency_key": key}) is good
