"""The programs of docs/build-your-chat.md run as written, with the real SDKs of Python, against a running gateway.

The SDKs of TypeScript are not installed: a stub with the same methods sends their requests.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright._impl._driver import compute_driver_executable

from analytics.flags import FlagKey
from analytics.rollout.models import Cohort
from analytics.turns.models import ToolSelection
from console.system.guides import FOLDER
from tests.support.servers.processes import Server, eventually
from tests.support.upstreams.http_servers import Server as HttpServer
from tests.support.upstreams.http_servers import build_response

pytestmark = pytest.mark.server

GUIDE = (FOLDER / "build-your-chat.md").read_text()
PROGRAM = re.compile(r"[Ss]ave this as `(\w+\.\w+)`.*?```(?:python|typescript)\n(.*?)```", re.DOTALL)
PROGRAMS = dict(PROGRAM.findall(GUIDE))
REASON_ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|", re.MULTILINE)
MODEL = "guide"
CALL: Any = {"op": "onto.task.list", "args": {"limit": 1}}
STUB = """
const send = (path) => async (body) =>
  (await fetch(process.env.LLM_URL + path, {method: "POST", body: JSON.stringify(body)})).json();
export default class {
  chat = {completions: {create: send("/chat/completions")}};
  messages = {create: send("/v1/messages")};
}
"""


@pytest.fixture
def llm() -> Iterator[tuple[HttpServer, list[Any]]]:
    """A provider that calls tool_exec, then answers. The bodies of its requests are collected."""
    bodies: list[Any] = []

    def answer(request: bytes) -> bytes:
        head, _, body = request.partition(b"\r\n\r\n")
        bodies.append(json.loads(body))
        build = _build_message if b"/v1/messages" in head.split(b"\r\n")[0] else _build_completion
        return build_response(json.dumps(build(is_last=len(bodies) > 1)).encode(), Content_Type="application/json")

    server = HttpServer(answer)
    yield server, bodies
    server.stop()


def _build_completion(*, is_last: bool) -> dict[str, Any]:
    function = {"name": "tool_exec", "arguments": json.dumps(CALL)}
    message: dict[str, Any] = {"role": "assistant", "content": "Here is one task."}
    if not is_last:
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        }
    choice = {"index": 0, "message": message, "finish_reason": "stop" if is_last else "tool_calls"}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def _build_message(*, is_last: bool) -> dict[str, Any]:
    content: dict[str, Any] = {"type": "text", "text": "Here is one task."}
    if not is_last:
        content = {"type": "tool_use", "id": "c1", "name": "tool_exec", "input": CALL}
    usage = {"input_tokens": 100, "output_tokens": 20}
    kind = {"id": "1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
    return {**kind, "content": [content], "stop_reason": "end_turn" if is_last else "tool_use", "usage": usage}


@pytest.fixture
def three_tools(shared_server: Server) -> Iterator[None]:
    """A cohort that shows the three tools to the model of the programs."""
    cohort = Cohort.objects.create(name="guide", flag_id=FlagKey.SURFACE, variant="gateway", percentage=100)
    cohort.rules.create(attribute="model_family", values=[MODEL])

    def is_shown(http: httpx2.Client) -> bool:
        body, headers = {"format": "openai"}, {"Gateway-Model": MODEL, "Gateway-Subject": "demo-user"}
        return bool(http.post("/api/v1/toolset", json=body, headers=headers).json()["surface"] == "gateway")

    try:
        shared_server.wait_for_workers(is_shown, what="showing the three tools")
        yield
    finally:
        cohort.delete()


@pytest.fixture
def run_program(
    tmp_path: Path, shared_server: Server, three_tools: None, llm: tuple[HttpServer, list[Any]]
) -> Callable[..., list[Any]]:
    """Return a function that runs a program of the guide, and returns the bodies that the provider received."""

    def run(interpreter: str, name: str) -> list[Any]:
        for file, text in PROGRAMS.items():
            (tmp_path / file).write_text(text)
        for package in ("openai", "@anthropic-ai/sdk"):
            folder = tmp_path / "node_modules" / package
            folder.mkdir(parents=True)
            (folder / "package.json").write_text('{"type": "module", "main": "index.js"}')
            (folder / "index.js").write_text(STUB)
        (tmp_path / "package.json").write_text('{"type": "module"}')
        provider, bodies = llm
        url = provider.url("").rstrip("/")
        models = {"OPENAI_MODEL": MODEL, "ANTHROPIC_MODEL": MODEL}
        keys = {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-1", "LLM_URL": url}
        urls = {"OPENAI_BASE_URL": url, "ANTHROPIC_BASE_URL": url, "GATEWAY_URL": shared_server.url}
        done = subprocess.run(
            [interpreter, name, "Which tasks are there?"],
            cwd=tmp_path,
            env=os.environ | models | keys | urls | {"GATEWAY_API_KEY": shared_server.key},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "Here is one task.\n"), done.stderr
        return bodies

    return run


@pytest.mark.parametrize("name", [name for name in PROGRAMS if "_chat" in name])
def test_program_runs_a_turn(run_program: Callable[..., list[Any]], name: str) -> None:
    interpreter = sys.executable if name.endswith(".py") else compute_driver_executable()[0]
    reports = ToolSelection.objects.filter(model=MODEL)  # other tests' chats report their turns to this server, too
    turns = reports.count()

    first, second = run_program(interpreter, name)

    # The model is shown the three tools, and reads the answer of its call.
    assert [tool.get("function", tool)["name"] for tool in first["tools"]] == ["tool_help", "tool_exec", "tool_batch"]
    result = second["messages"][-1]["content"]
    envelope = json.loads(result if isinstance(result, str) else result[0]["content"])
    assert (envelope["op"], envelope["ok"]) == ("onto.task.list", True)
    eventually(lambda: reports.count() == turns + 1, what="the report of the turn")
    report = reports.latest("id")
    assert (report.used, report.missed, report.tokens, report.outcome) == (["tool_exec"], [], 240, "succeeded")


def test_guide_names_only_reasons_that_exist() -> None:
    reference = (FOLDER / "reference" / "errors.md").read_text()

    reasons = [
        reason for row in REASON_ROW.findall(GUIDE.partition("## From error to fix")[2]) for reason in row.split(", ")
    ]

    assert len(reasons) > 20
    assert [reason for reason in reasons if f"| {reason} |" not in reference] == []
