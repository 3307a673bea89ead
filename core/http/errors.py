"""Errors of outgoing calls, each with one fixed sentence, and headers that are parsed in bounded time.

The sentences never quote the URL, the headers or the response: a query may contain a token, and callers must not be
able to distinguish a refused host from one that does not exist.
"""

import socket
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from threading import Event

from django.utils.http import parse_header_parameters

MAX_PARAMETERS = 2_000  # characters of a header with parameters; longer ones take the parser too long
MAX_DATE = 64
MAX_SECONDS_DIGITS = 9  # 30 years
Parameters = tuple[str, dict[str, str]]  # the value before the first semicolon, and the parameters by lower-case name


class OutgoingError(Exception):
    """An outgoing call did not succeed.

    `was_sent` says whether the server may have seen the request: true once its first bytes were written.
    """

    sentence = "The outgoing call failed."
    was_sent = False

    def __str__(self) -> str:
        return self.sentence


class BadUrl(OutgoingError):
    """The URL is malformed or never allowed. Also raised for the target of a redirect."""

    sentence = (
        "The URL cannot be called. Send http:// or https://, a host, a port from 1 to 65535 if not the default, "
        "and no user name or password."
    )


class BadRequest(OutgoingError):
    """The method or a header is not allowed, or contains characters that HTTP does not allow (RFC 9110)."""

    sentence = (
        "The request cannot be sent: its method or one of its headers is not allowed, "
        "or contains a character that HTTP does not allow."
    )


class AddressRefused(OutgoingError):
    """The host resolves to an address that is not allowed, or does not resolve. The error does not say which."""

    sentence = (
        "The address cannot be called: its host is unknown or not allowed. "
        "Use a public host on a standard port; an administrator can allow others."
    )


class Unreachable(OutgoingError):
    """The server refused the connection or closed it too early."""

    sentence = "The server cannot be reached: it refused the connection or closed it."


class Untrusted(Unreachable):
    """The TLS handshake failed."""

    sentence = "The server cannot be trusted: its certificate is not valid for this host, or it does not speak TLS."


class BrokenAnswer(Unreachable):
    """The response is not HTTP, ends too early, or has a content encoding that was not requested."""

    sentence = "The server's response is not complete, valid HTTP."


class TimedOut(OutgoingError):
    """The call, or one step of it, exceeded its time limit."""

    sentence = "The server did not respond in time."


class TooLarge(OutgoingError):
    """The response body exceeds the caller's limit, compressed or decompressed, or its headers are too long."""

    sentence = "The server's response is larger than allowed."


class TooManyRedirects(OutgoingError):
    """The server redirected more often than is followed."""

    was_sent = True

    sentence = "The server redirects too many times."


def parse_parameters(headers: Mapping[str, str], name: str) -> Parameters:
    """Return the value and the parameters of a header such as Content-Disposition; empty ones if it cannot be read."""
    value = headers.get(name, "").replace("\r", " ").replace("\n", " ")
    if len(value) > MAX_PARAMETERS:
        return "", {}
    try:
        return parse_header_parameters(value)
    except Exception:  # Python's parser has no specific error: codecs and the header classes raise many
        return "", {}


def parse_retry_after(value: str, *, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for (RFC 9110 section 10.2.3), None if it says nothing."""
    if value.isascii() and value.isdigit():
        return float(value) if len(value) <= MAX_SECONDS_DIGITS else None
    try:
        return max(0.0, (parsedate_to_datetime(value) - now).total_seconds()) if len(value) <= MAX_DATE else None
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


class Abort:
    """A switch that ends a call immediately: its connection is shut down, and reading from it fails.

    A call may be over before it is noticed. Ask `is_set` why a call failed.
    """

    def __init__(self) -> None:
        self._event = Event()
        self._socket: socket.socket | None = None

    @property
    def is_set(self) -> bool:
        """Whether the call was ended."""
        return self._event.is_set()

    def set(self) -> None:
        """End the call, and every later call with this switch."""
        self._event.set()
        if self._socket is not None:
            with suppress(OSError):  # it may be closed already
                self._socket.shutdown(socket.SHUT_RDWR)

    def wait(self, seconds: float) -> bool:
        """Wait that long, or return True as soon as the call is ended."""
        return self._event.wait(seconds)

    def attach(self, sock: socket.socket | None) -> None:
        """Name the connection that the call waits for now. None when it waits for none."""
        self._socket = sock
