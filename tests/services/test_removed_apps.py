"""A gateway without the apps that a team can remove (GATEWAY_APPS): it starts, and every endpoint answers."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.conf import settings

from tests.support.servers import checkouts
from tests.support.servers.checkouts import Checkout
from tests.support.servers.processes import PLAIN_HTTP, Server, eventually, submit_sign_in

pytestmark = pytest.mark.server

FOLLOWS_WITHIN = 10.0  # seconds, on a busy machine
READ = {"op": "read_file", "args": {"file_path": "config/database.yaml"}}
ADMIN_PAGES = ("", "system/", "guides/", "registry/op/", "registry/release/review/", "auth/user/", "rollout/who/")


def write_documented_app(checkout: Checkout) -> None:
    """Write the app of docs/apps.md into the checkout, and install it."""
    text = (checkout.folder / "docs" / "apps.md").read_text()
    handlers, manifest = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    copy, words = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    files = {"__init__.py": "", "handlers.py": handlers, "manifest.py": manifest}
    files |= {"copy/invoices.yaml": copy, "copy/vocabulary.yaml": words}
    for name, content in files.items():
        path = checkout.folder / "invoices" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    checkout.variables["GATEWAY_APPS"] += ",invoices"


def copy_checkout_without(folder: Path, *, left: str, removed: tuple[str, ...]) -> Checkout:
    """Copy the checkout without the code of the removed apps, so that whatever imports it fails."""
    checkout = checkouts.copy_checkout(folder, GATEWAY_APPS=left)
    for app in removed:
        shutil.rmtree(checkout.folder / app)
    return checkout


def check_console(server: Server, checkout: Checkout, *, removed: tuple[str, ...]) -> None:
    """Check that the console opens, and that neither its addresses nor its sidebar have pages of removed apps."""
    with httpx2.Client(base_url=server.url, timeout=40, **PLAIN_HTTP) as http:
        known = checkout.dev_env
        signed_in = submit_sign_in(http, known["ADMIN_USERNAME"], known["ADMIN_PASSWORD"])
        assert signed_in.status_code == 302
        for path in ADMIN_PAGES:
            page = http.get(f"/admin/{path}")
            assert page.status_code == 200, path
            for app in removed:
                assert f'href="/admin/{app}/' not in page.text, path
        for path in ("/admin/workspace/task/", "/admin/chat/profile/", "/chat/"):
            assert http.get(path).status_code == 404, path


def check_commands(checkout: Checkout) -> None:
    """Check that commands run, in one process: each start takes two seconds."""
    calls = 'call_command("check"), call_command("makemigrations", "--check", "--dry-run")'
    done = checkout.command(
        "shell",
        "-c",
        f'from django.core.management import call_command; {calls}; call_command("load_catalog", "--publish")',
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_gateway_without_workspace_and_chat_answers_at_every_endpoint(tmp_path: Path) -> None:
    removed = ("workspace", "chat")
    checkout = copy_checkout_without(tmp_path / "checkout", left="demo", removed=removed)
    write_documented_app(checkout)
    with checkout.running() as server:
        done = checkout.command("load_demo", "--domains")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "ops is live" in done.stdout
        eventually(lambda: server.help("files").status_code == 200, within=FOLLOWS_WITHIN)
        with server.client() as http:
            check_help(http)
            check_exec(http)
            check_documented_app(http)
            check_batch(http)
            check_toolset_and_telemetry(http)
            check_discover(http)
            check_releases(http)
            check_flags(http)
            check_mcp(http)
            check_events(http)
        check_console(server, checkout, removed=removed)
        check_commands(checkout)


def post(http: httpx2.Client, path: str, body: dict[str, Any], status: int = 200, **headers: str) -> Any:
    response = http.post(path, json=body, headers=headers)
    assert response.status_code == status, response.text
    return response.json()


def check_help(http: httpx2.Client) -> None:
    root = post(http, "/api/v1/help", {})
    assert {"files", "crm", "shop", "util"} <= {each["path"] for each in root["items"]}
    assert not {"onto", "cal"} & {each["path"] for each in root["items"]}
    hits = post(http, "/api/v1/help", {"query": "read a file"})
    assert "files.read" in str(hits)


def check_exec(http: httpx2.Client) -> None:
    read = post(http, "/api/v1/exec", READ)
    assert read["ok"]
    assert read["meta"]["operation"]["entity"] == "file"
    write = {"op": "files.write", "args": {"file_path": "new.txt", "content": "new"}, "idempotency_key": "once"}
    assert [post(http, "/api/v1/exec", write)["meta"].get("replayed", False) for _ in range(2)] == [False, True]
    refused = post(http, "/api/v1/exec", {"op": "files.read", "args": {"file_path": "/new.txt"}}, 400)
    assert refused["error"]["details"]["retry_with"]["args"]["file_path"] == "new.txt"
    misspelt = post(http, "/api/v1/exec", {"op": "crm.contact.list", "args": {"state": "customer"}}, 400)
    assert misspelt["error"]["details"]["field_errors"]
    assert post(http, "/api/v1/exec", {"op": "shop.order.list"})["ok"]
    assert post(http, "/api/v1/exec", {"op": "onto.task.list"}, 404)["error"]["details"]["reason"] == "unknown_op"


def check_documented_app(http: httpx2.Client) -> None:
    found = post(http, "/api/v1/exec", {"op": "invoices.get", "args": {"invoice_id": "2031-001"}})
    assert found["result"] == {"invoice": {"id": "2031-001", "total_eur": 120}}
    refused = post(http, "/api/v1/exec", {"op": "invoices.get", "args": {"invoice_id": "x"}}, 404)
    assert refused["error"]["message"] == "No invoice has this number. Send one such as 2031-001."


def check_batch(http: httpx2.Client) -> None:
    entries = [{"type": "exec", **READ}, {"type": "help", "path": "crm"}]
    done = post(http, "/api/v1/batch", {"ops": entries})
    assert [each["ok"] for each in done["results"]] == [True, True]
    accepted = post(http, "/api/v1/batch", {"ops": entries}, 202, Prefer="respond-async")
    status = eventually(
        lambda: (body := http.get(f"/api/v1/batches/{accepted['batch_id']}").json())["status"] == "done" and body,
        within=FOLLOWS_WITHIN,
    )
    assert [each["ok"] for each in status["results"]] == [True, True]


def check_toolset_and_telemetry(http: httpx2.Client) -> None:
    for surface in ("gateway", "hybrid", "legacy", "native", "discovery"):
        toolset = post(http, "/api/v1/toolset", {"format": "openai", "surface": surface})
        assert toolset["tools"], surface
    body = {"toolset": toolset["id"], "turn": "t1", "tools_loaded": ["tool_exec"], "tools_used": ["tool_exec"]}
    assert post(http, "/api/v1/telemetry", body)["ok"]


def check_discover(http: httpx2.Client) -> None:
    tools = post(http, "/api/v1/discover/discover_crm_tools", {})["tools"]
    assert "update_contact" in {tool["name"] for tool in tools}


def check_releases(http: httpx2.Client) -> None:
    releases = http.get("/api/v1/releases").json()["results"]
    assert releases
    assert http.get(f"/api/v1/releases/{releases[0]['version']}").status_code == 200


def check_flags(http: httpx2.Client) -> None:
    body = {"context": {"targetingKey": "demo-user"}}
    assert post(http, "/ofrep/v1/evaluate/flags", body)["flags"]


def check_mcp(http: httpx2.Client) -> None:
    initialize = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}
    headers = {"Accept": "application/json, text/event-stream"}
    assert post(http, "/mcp", body, **headers)["result"]["serverInfo"]


def check_events(http: httpx2.Client) -> None:
    def list_ops() -> set[str]:
        return {each["op"] for each in http.get("/api/v1/events", params={"limit": 100}).json()["results"]}

    eventually(lambda: {"files.read", "files.write"} <= list_ops(), within=FOLLOWS_WITHIN, what="the events of calls")


@pytest.mark.thorough
def test_gateway_without_any_removable_app_starts_with_its_own_ops(tmp_path: Path) -> None:
    removed = ("workspace", "chat", "demo")
    checkout = copy_checkout_without(tmp_path / "checkout", left="", removed=("workspace", "chat"))
    with checkout.running() as server:
        assert "chat " not in server.process.output
        assert "shop " not in server.process.output
        root = server.help().json()
        assert [each["path"] for each in root["items"]] == ["util", "x"]
        check_console(server, checkout, removed=removed)
        check_commands(checkout)
        assert checkout.command("load_demo").returncode != 0


@pytest.mark.thorough
def test_unit_tests_of_the_gateway_pass_without_workspace_and_chat(tmp_path: Path) -> None:
    checkout = copy_checkout_without(tmp_path / "checkout", left="demo", removed=("workspace", "chat"))
    for folder in ("tests", "benchmarks"):
        shutil.copytree(settings.BASE_DIR / folder, checkout.folder / folder)

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/unit/gateway", "-q", "-n", "0"],
        cwd=checkout.folder,
        env=checkout.environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
