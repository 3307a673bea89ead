"""An MCP client that signs in over OAuth, and the browser of its user, for tests in this process."""

import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client as HttpClient
from oauth2_provider.models import Application

REDIRECT_URI = "https://app.example.com/callback"


def register_application(name: str = "Example app", redirect_uri: str = REDIRECT_URI) -> Application:
    """Register an application as the console does."""
    return Application.objects.create(
        name=name,
        redirect_uris=redirect_uri,
        client_type=Application.CLIENT_PUBLIC,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
    )


@dataclass
class OAuthClient:
    """An application, and the browser in which its user is signed in."""

    client_id: str
    resource: str
    user: User | None = None
    redirect_uri: str = REDIRECT_URI
    browser: HttpClient = field(default_factory=HttpClient)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    def __post_init__(self) -> None:
        if self.user is not None:
            self.browser.force_login(self.user)

    def build_url(self, **changes: str | None) -> str:
        """Return the URL to which the application sends the browser. None leaves a parameter out."""
        query: dict[str, Any] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "state": "s1",
            "code_challenge": urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "resource": self.resource,
            **changes,
        }
        return f"/oauth/authorize?{urlencode({name: value for name, value in query.items() if value is not None})}"

    def ask(self, **changes: str | None) -> HttpResponse:
        """Open the page that asks the user."""
        return self.browser.get(self.build_url(**changes))

    def decide(self, decision: str = "allow", **changes: str | None) -> dict[str, str]:
        """Answer the question, and return the query with which the browser comes back."""
        return read_redirect(self.browser.post(self.build_url(**changes), {"decision": decision}), self.redirect_uri)

    def exchange(self, code: str, **changes: str | None) -> HttpResponse:
        fields = {"code": code, "redirect_uri": self.redirect_uri, "code_verifier": self.verifier, **changes}
        return self.request_token("authorization_code", **fields)

    def refresh(self, refresh_token: str, **changes: str | None) -> HttpResponse:
        return self.request_token("refresh_token", refresh_token=refresh_token, **changes)

    def request_token(self, grant_type: str, **fields: str | None) -> HttpResponse:
        data = {"grant_type": grant_type, "client_id": self.client_id, "resource": self.resource, **fields}
        return HttpClient().post("/oauth/token", {name: value for name, value in data.items() if value is not None})

    def sign_in(self) -> dict[str, Any]:
        """Let the user allow the application, and return its tokens."""
        response = self.exchange(self.decide()["code"])
        assert response.status_code == 200, response.content
        tokens: dict[str, Any] = response.json()
        return tokens


def read_redirect(response: HttpResponse, redirect_uri: str = REDIRECT_URI) -> dict[str, str]:
    """Return the query of a redirect to the application."""
    assert response.status_code == 302, (response.status_code, response.content[:500])
    location = response.headers["Location"]
    assert location.startswith(redirect_uri), location
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
