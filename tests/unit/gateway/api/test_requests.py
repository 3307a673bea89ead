import pytest
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from gateway.api import requests as request_body
from gateway.contracts.errors import InvalidRequestError

requests = RequestFactory()


@given(st.binary(min_size=1))
def test_any_bytes_are_an_object_or_refused(raw: bytes) -> None:
    request = requests.generic("POST", "/", raw, "application/json")

    try:
        body = request_body.read_json_object(request)
    except InvalidRequestError as error:
        assert error.status == 400  # noqa: PT017 - both outcomes are valid
    else:
        assert isinstance(body, dict)


@pytest.mark.parametrize("length", ["", "0", "10"])
def test_check_size_accepts_small_bodies(length: str) -> None:
    request_body.check_size(requests.generic("POST", "/", CONTENT_LENGTH=length), 10)


@pytest.mark.parametrize("length", ["11", "-1", "1e1", "x", "²", " 1"])
def test_check_size_refuses_other_lengths(length: str) -> None:
    with pytest.raises(InvalidRequestError) as error:
        request_body.check_size(requests.generic("POST", "/", CONTENT_LENGTH=length), 10)

    assert (error.value.status, error.value.reason) == (413, "too_large")
