"""Clients of MCP sign in over OAuth against a running gateway, with the browser of their user."""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

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
from demo.traffic import rollout
from gateway.access import api_keys
from gateway.models import ApiKey, SignedInApplication
from tests.support.clients.oauth_client import register_application
from tests.support.servers.processes import PLAIN_HTTP, Server, free_port
from tests.support.upstreams.mcp_programs import INSPECTOR, needs_clients
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
        self.location = ""
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
        self.location = answer.headers["location"]
        self.query = {name: values[0] for name, values in parse_qs(urlsplit(self.location).query).items()}

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


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    """A gateway at which the demo's user can sign in."""
    user = User.objects.create(username="ana", password=make_password(PASSWORD, hasher="argon2"))  # the server's
    ChatProfile.objects.create(user=user, subject=DEMO_SUBJECT)
    rollout.create_demo_cohort(timezone.now())
    port = free_port()
    return serve(port=port, GATEWAY_OAUTH="on", GATEWAY_URL=f"http://127.0.0.1:{port}")


@pytest.fixture
def client_id(server: Server) -> str:
    """The id of an application on its user's own computer, whose port may differ (RFC 8252)."""
    return register_application(redirect_uri="http://127.0.0.1/callback").client_id


def test_client_signs_in_calls_a_tool_refreshes_and_is_revoked(server: Server, client_id: str) -> None:
    storage, browser = Storage(client_id), Browser()

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
    api_keys.revoke(ApiKey.objects.get(pk=link.key_id), by="tests", at=timezone.now())
    assert refresh(server, storage).json()["error"] == "invalid_grant"
    use(server, storage, browser)  # the client notices that its token has ended, and asks its user again
    assert browser.visits == 2
    assert SignedInApplication.objects.get().key_id != link.key_id
    assert PASSWORD not in server.process.output
    assert storage.tokens.access_token not in server.process.output


@needs_clients
@pytest.mark.parametrize("sdk", ["1", "2"])
def test_typescript_client_signs_in(server: Server, client_id: str, node_folder: Path, sdk: str) -> None:
    variables = {"CLIENT_ID": client_id, "REDIRECT_URI": REDIRECT_URI, "TASK_ID": DEMO_TASK_ID, "SDK": sdk}
    browser = Browser()
    with start("npx", "node", "oauth.mjs", folder=node_folder, MCP_URL=f"{server.url}/mcp", **variables) as client:
        asyncio.run(browser.open(read_url(client)))
        output, _ = client.communicate(f"{urlencode(browser.query)}\n", timeout=60)

    assert output == "ok\n"
    assert browser.location.startswith(REDIRECT_URI)


@needs_clients
def test_inspector_signs_in(server: Server, client_id: str, node_folder: Path) -> None:
    callback = f"http://127.0.0.1:{free_port()}/callback"
    target = ["--server-url", f"{server.url}/mcp", "--transport", "http"]
    sign_in = ["--client-id", client_id, "--callback-url", callback]
    home = {"HOME": str(node_folder), "MCP_AUTO_OPEN_ENABLED": "true"}  # without a terminal it asks only if told to
    browser = Browser()
    call = ["--method", "tools/call", "--tool-name", "tool_help", "--tool-arg", "path=onto.task"]
    with start(*INSPECTOR, *target, *sign_in, *call, folder=node_folder, **home) as client:
        asyncio.run(browser.open(read_url(client)))
        assert browser.location.startswith(callback)
        httpx2.get(browser.location, **PLAIN_HTTP)
        output, _ = client.communicate(timeout=60)

    [answer] = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert answer["result"]["structuredContent"]["path"] == "onto.task"


def start(*command: str, folder: Path, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def read_url(client: subprocess.Popen[str]) -> str:
    """Return the URL to which a client sends its user."""
    assert client.stdout is not None
    said = ""
    for line in client.stdout:
        if found := re.search(r"http\S+/oauth/authorize\S+", line):
            return found[0]
        said += line
    raise AssertionError(said)
