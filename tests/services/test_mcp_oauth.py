"""The official Python client of MCP signs in over OAuth against a running gateway, with the browser of its user."""

import asyncio
import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.utils import timezone
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from chat.models import Profile as ChatProfile
from gateway.clients import api_keys
from gateway.models import ApiKey, SignedInApplication
from tests.support.oauth_client import register_application
from tests.support.servers.processes import PLAIN_HTTP, Server, free_port
from workspace.demo import DEMO_SUBJECT, DEMO_TASK_ID

pytestmark = pytest.mark.server

PASSWORD = "correct horse battery"
REDIRECT_URI = "http://127.0.0.1:7391/callback"


class Storage:
    """What the client stores between two runs. The application was registered by an administrator."""

    def __init__(self, client_id: str) -> None:
        self.tokens: OAuthToken | None = None
        self.client_info: OAuthClientInformationFull | None = OAuthClientInformationFull(
            client_id=client_id, redirect_uris=[REDIRECT_URI], token_endpoint_auth_method="none"
        )

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client_info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client_info = client_info


class Browser:
    """A browser whose user signs in and allows. It counts how often the client sends them there."""

    def __init__(self) -> None:
        self.visits = 0
        self.query: dict[str, str] = {}

    async def open(self, url: str) -> None:
        """Open the URL to which the client sends its user, fill in the forms, and stop at the redirect to it."""
        self.visits += 1
        async with httpx2.AsyncClient(follow_redirects=True, timeout=30, **PLAIN_HTTP) as http:
            sign_in = await http.get(url)
            assert sign_in.status_code == 200, sign_in.text
            fields = {**read_fields(sign_in.text), "username": "ana", "password": PASSWORD}
            question = await http.post(str(sign_in.url), data=fields)
            assert "Let Example app use your tools?" in question.text
            action = re.search(r'<form method="post" action="([^"]*)"', question.text)
            assert action is not None
            answer = await http.post(
                urljoin(str(question.url), unescape(action[1])),
                data={**read_fields(question.text), "decision": "allow"},
                follow_redirects=False,
            )
        location = answer.headers["location"]
        assert location.startswith(REDIRECT_URI)
        self.query = {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}

    async def get_result(self) -> AuthorizationCodeResult:
        """Return what the browser brings back to the client."""
        return AuthorizationCodeResult(**{name: self.query.get(name) for name in ("code", "state", "iss")})


def read_fields(page: str) -> dict[str, str]:
    """Return the hidden fields of a form."""
    fields = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page)
    return {name: unescape(value) for name, value in fields}


def use(server: Server, storage: Storage, browser: Browser) -> Any:
    """Connect the client, call a tool and return its result."""
    url = f"{server.url}/mcp"
    metadata = OAuthClientMetadata(
        client_name="Example app", redirect_uris=[REDIRECT_URI], token_endpoint_auth_method="none"
    )
    auth = OAuthClientProvider(
        url, metadata, storage, redirect_handler=browser.open, callback_handler=browser.get_result
    )

    async def connect() -> Any:
        async with (
            httpx2.AsyncClient(auth=auth, timeout=60, **PLAIN_HTTP) as http,
            Client(streamable_http_client(url, http_client=http), read_timeout_seconds=60) as client,
        ):
            return await client.call_tool("tool_exec", {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}})

    return asyncio.run(connect())


def refresh(server: Server, storage: Storage) -> httpx2.Response:
    assert storage.tokens is not None
    assert storage.client_info is not None
    data = {
        "grant_type": "refresh_token",
        "refresh_token": storage.tokens.refresh_token,
        "client_id": storage.client_info.client_id,
    }
    return httpx2.post(f"{server.url}/oauth/token", data=data, **PLAIN_HTTP)


def test_client_signs_in_calls_a_tool_refreshes_and_is_revoked(serve: Callable[..., Server]) -> None:
    user = User.objects.create(username="ana", password=make_password(PASSWORD, hasher="pbkdf2_sha256"))  # the server's
    ChatProfile.objects.create(user=user, subject=DEMO_SUBJECT)
    application = register_application(redirect_uri="http://127.0.0.1/callback")
    port = free_port()
    server = serve(port=port, GATEWAY_OAUTH="on", GATEWAY_URL=f"http://127.0.0.1:{port}")
    storage, browser = Storage(application.client_id), Browser()

    result = use(server, storage, browser)
    assert result.structured_content["result"]["task"]["id"] == DEMO_TASK_ID
    assert browser.visits == 1

    use(server, storage, browser)  # with the stored token
    assert browser.visits == 1

    renewed = refresh(server, storage)
    assert renewed.status_code == 200, renewed.text
    storage.tokens = OAuthToken.model_validate(renewed.json())
    use(server, storage, browser)
    assert browser.visits == 1

    [link] = SignedInApplication.objects.all()
    api_keys.revoke(ApiKey.objects.get(pk=link.key_id), at=timezone.now())
    assert refresh(server, storage).json()["error"] == "invalid_grant"
    use(server, storage, browser)  # the client notices that its token has ended, and asks its user again
    assert browser.visits == 2
    assert SignedInApplication.objects.get().key_id != link.key_id
    assert PASSWORD not in server.process.output
    assert storage.tokens.access_token not in server.process.output
