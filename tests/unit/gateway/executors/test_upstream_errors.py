"""Every way in which an outgoing call fails has its place in the envelope, and none tells where it went."""

import pytest

from core import http
from core.http import errors
from gateway.contracts.errors import ErrorCode
from gateway.executors import upstream_errors

EVERY = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, http.OutgoingError)]


def test_every_outgoing_error_has_its_error() -> None:
    assert set(upstream_errors.API_ERRORS) == set(EVERY) - {http.OutgoingError}


@pytest.mark.parametrize("kind", upstream_errors.API_ERRORS, ids=lambda kind: kind.__name__)
def test_an_error_says_the_sentence_and_a_status_that_fits(kind: type[http.OutgoingError]) -> None:
    error = upstream_errors.to_api_error(kind())

    assert str(error) == kind.sentence
    assert (error.code, error.status) in [
        (ErrorCode.VALIDATION_ERROR, 400),
        (ErrorCode.INTERNAL, 502),
        (ErrorCode.INTERNAL, 504),
    ]


def test_a_refused_address_and_a_slow_server_are_told_as_designed() -> None:
    refused, slow = upstream_errors.to_api_error(http.AddressRefused()), upstream_errors.to_api_error(http.TimedOut())

    assert (refused.status, refused.reason, refused.retryable) == (400, "address_refused", False)
    assert (slow.status, slow.reason, slow.retryable) == (504, "upstream_timeout", True)


@pytest.mark.parametrize(("status", "retryable"), [(404, False), (403, False), (429, True), (503, True), (302, False)])
def test_a_bad_status_is_worth_another_try_where_it_may_pass(status: int, retryable: bool) -> None:
    error = upstream_errors.build_status_error(status, "No.")

    assert (error.status, error.reason, error.retryable) == (502, "upstream_status", retryable)
