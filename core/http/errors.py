"""Errors of outgoing calls. Each has one fixed sentence that may be shown to anybody.

The sentences never quote the URL, the headers or the response: a query may contain a token, and callers must not be
able to distinguish a refused host from one that does not exist.
"""


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
