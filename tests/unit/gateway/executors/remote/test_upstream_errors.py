"""Every outgoing error becomes an API error that does not reveal the address."""

import pytest

from core import http
from core.http import errors
from gateway.contracts.errors import ErrorCode
from gateway.executors.remote import errors as upstream_errors

OUTGOING_ERRORS = [
    each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, http.OutgoingError)
]


def test_every_outgoing_error_has_an_api_error() -> None:
    assert set(upstream_errors.API_ERRORS) == set(OUTGOING_ERRORS) - {http.OutgoingError}


@pytest.mark.parametrize("kind", upstream_errors.API_ERRORS, ids=lambda kind: kind.__name__)
def test_api_error_has_the_message_and_a_fitting_status(kind: type[http.OutgoingError]) -> None:
    error = upstream_errors.convert_outgoing_error(kind())

    assert str(error) == kind.sentence
    assert (error.code, error.status) in [
        (ErrorCode.VALIDATION_ERROR, 400),
        (ErrorCode.INTERNAL, 502),
        (ErrorCode.INTERNAL, 504),
    ]


def test_refused_address_and_timeout_have_their_status() -> None:
    address_error, timeout_error = (
        upstream_errors.convert_outgoing_error(http.AddressRefused()),
        upstream_errors.convert_outgoing_error(http.TimedOut()),
    )

    assert (address_error.status, address_error.reason, address_error.retryable) == (400, "address_refused", False)
    assert (timeout_error.status, timeout_error.reason, timeout_error.retryable) == (504, "upstream_timeout", True)


@pytest.mark.parametrize(("status", "retryable"), [(404, False), (403, False), (429, True), (503, True), (302, False)])
def test_status_error_is_retryable_only_for_temporary_statuses(status: int, retryable: bool) -> None:
    error = upstream_errors.build_status_error(status, "No.")

    assert (error.status, error.reason, error.retryable) == (502, "upstream_status", retryable)
