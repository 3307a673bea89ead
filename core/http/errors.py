"""What can go wrong with an outgoing call. Each error is one fixed sentence that may be shown to anybody.

Nothing of the URL, the headers or the answer is ever in one: a query may hold a token, and the name of a host that is
refused must not be told apart from one that does not exist.
"""


class OutgoingError(Exception):
    """An outgoing call did not succeed."""

    sentence = "The outgoing call failed."

    def __str__(self) -> str:
        return self.sentence


class BadUrl(OutgoingError):
    """The URL is not one that is ever called, wherever it leads. Also raised for what a redirect points to."""

    sentence = (
        "The URL cannot be called. Send http:// or https://, a host, a port from 1 to 65535 if not the usual one, "
        "and no user name or password."
    )


class BadRequest(OutgoingError):
    """The method or a header is not one that a caller may set, or holds what HTTP does not allow (RFC 9110)."""

    sentence = (
        "The request cannot be sent: its method or one of its headers is not one that may be set, "
        "or holds a character that HTTP does not allow."
    )


class AddressRefused(OutgoingError):
    """The host leads where we do not go, or nowhere at all. Which of the two is not said."""

    sentence = (
        "The address cannot be called: its host is unknown, or is not one that may be reached from here. "
        "Use a public host on a usual port; an administrator can allow others."
    )


class Unreachable(OutgoingError):
    """The server did not accept a connection, or broke it off."""

    sentence = "The server cannot be reached: it refused the connection or broke it off."


class Untrusted(Unreachable):
    """The TLS handshake failed."""

    sentence = "The server cannot be trusted: its certificate is not valid for this host, or it does not speak TLS."


class BrokenAnswer(Unreachable):
    """The answer is not HTTP, ends too early, or is packed in a way that was not asked for."""

    sentence = "The server's answer is broken: it is not complete, valid HTTP."


class TimedOut(OutgoingError):
    """The call took longer than a step or the whole of it may."""

    sentence = "The server did not answer in time."


class TooLarge(OutgoingError):
    """The answer has more bytes than the caller takes, as sent or unpacked, or too long a head."""

    sentence = "The server's answer is larger than allowed."


class TooManyRedirects(OutgoingError):
    """The answer is one redirect after another."""

    sentence = "The server redirects too many times."
