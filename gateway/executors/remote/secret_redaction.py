"""Remove the credentials of a connection from answers that repeat the request, as debugging services do."""

from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

from core import http
from gateway.executors.remote.built_request import BuiltRequest

MIN_LENGTH = 6  # shorter texts would also be found where they are no secret
REPLACEMENT = "***"


def redact_response(response: http.Response, built: BuiltRequest, sent: BuiltRequest) -> http.Response:
    """Return the response without what `sent` has and `built`, the request without credentials, has not."""
    body = response.body
    for secret in find_secrets(built, sent):
        body = body.replace(secret.encode(), REPLACEMENT.encode())
    return response if body is response.body else replace(response, body=body)


def redact_text(text: str, secrets: Iterable[str]) -> str:
    """Return a text without these secrets, the longest of which come first."""
    for secret in secrets:
        text = text.replace(secret, REPLACEMENT)
    return text


def find_secrets(built: BuiltRequest, sent: BuiltRequest) -> list[str]:
    """Return the added header and query values and the words in them, the longest first."""
    values = [value for name, value in sent.headers.items() if built.headers.get(name) != value]
    known_pairs = parse_qsl(urlsplit(built.url).query)
    values += [value for name, value in parse_qsl(urlsplit(sent.url).query) if (name, value) not in known_pairs]
    secrets = {part for value in values for part in (value, *value.replace(";", " ").replace("=", " ").split())}
    return sorted((secret for secret in secrets if len(secret) >= MIN_LENGTH), key=len, reverse=True)
