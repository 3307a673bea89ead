"""Applications whose id is the URL of a document about them, and where browsers can be sent."""

import json
import logging
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.urls import reverse
from oauth2_provider.cimd import CIMDError, _effective_max_age, _validate_client_id_url

from core import http
from core.database.deadlines import Deadline

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})
log = logging.getLogger(__name__)
FETCH_MS = 5_000
MAX_BYTES = 16_384
MAX_REDIRECT_URIS = 50


def find_redirect_problem(uri: str) -> str:
    """Return what is wrong with a redirect URI as a sentence, or "" if an application can register it."""
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


class OnlyForSignedInUsers:
    """Fetch documents only on the page that asks a signed-in user. Nobody else can make the gateway fetch one."""

    def has_permission(self, request: Any, client_id: str) -> bool:
        """Return whether the request is for that page, which requires a sign-in before it reads the client's id."""
        path: str = urlsplit(request.uri).path
        return path == reverse("oauth2_provider:authorize")


class GuardedFetcher:
    """Fetches a document with our guarded HTTP: public addresses only, no redirects, a small body."""

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        """Return the document, and the seconds for which it is valid. Raises CIMDError."""
        try:
            return self._fetch(client_id)
        except CIMDError as error:
            log.warning("oauth.document_refused host=%s reason=%s", urlsplit(client_id).hostname, error)
            raise

    def _fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        _validate_client_id_url(client_id)
        try:
            response = http.request(
                "GET",
                client_id,
                headers={"accept": "application/json, application/*+json"},
                deadline=Deadline.after(milliseconds=FETCH_MS),
                max_bytes=MAX_BYTES,
                follow_redirects=False,  # the document would be that of another URL
                allow=(),  # the URL is chosen by the client that asks for a sign-in
            )
        except http.OutgoingError as error:
            raise CIMDError(f"{type(error).__name__}") from None
        document = _parse_document(response)
        _check_redirect_uris(document)
        return document, _effective_max_age(response.headers.get("cache-control"))


def _parse_document(response: http.Response) -> dict[str, Any]:
    if response.status != 200:
        raise CIMDError(f"status_{response.status}")
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not media_type.startswith("application/") or not media_type.endswith(("/json", "+json")):
        raise CIMDError("not_json")
    try:
        document = json.loads(response.body)
    except (ValueError, RecursionError):
        raise CIMDError("not_json") from None
    if not isinstance(document, dict):
        raise CIMDError("not_an_object")
    return document


def _check_redirect_uris(document: dict[str, Any]) -> None:
    """Raise CIMDError for redirect URIs that could not be registered in the console. DOT checks the rest."""
    uris = document.get("redirect_uris")
    if not isinstance(uris, list) or len(uris) > MAX_REDIRECT_URIS:
        raise CIMDError("redirect_uris")
    if any(not isinstance(uri, str) or find_redirect_problem(uri) for uri in uris):
        raise CIMDError("redirect_uris")
