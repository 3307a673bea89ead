"""Where browsers may be sent with an authorization code."""

from urllib.parse import SplitResult, urlsplit

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})


def find_redirect_problem(uri: str) -> str:
    """Return what is wrong with a redirect URI as a sentence, or "" if an application may register it."""
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return f"{uri} is not a URL."
    if not uri.isascii() or not uri.isprintable() or any(map(str.isspace, uri)) or not parts.hostname:
        return f"{uri} is not a URL."
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts)):
        return ""
    return f"{uri} must begin with https://, or be on the user's own machine: http://127.0.0.1."


def is_loopback(parts: SplitResult) -> bool:
    """Return whether a URL is on the machine of the browser."""
    return parts.hostname in LOOPBACK_HOSTS


def build_form_source(uri: str) -> str:
    """Return the source of a Content Security Policy to which the answer of a form may redirect."""
    parts = urlsplit(uri)
    return f"{parts.scheme}:" if "[" in parts.netloc else f"{parts.scheme}://{parts.netloc}"
