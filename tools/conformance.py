"""Run the official conformance suite of MCP against a gateway that is started for it: python -m tools.conformance.

The suite (npm, pinned in conformance_suite/) cannot send a key, so a small server in front of the gateway adds it. Its
tools that ask their user are those of a server behind the gateway (conformance_upstream.py).
conformance_suite/expected_failures.yaml lists what cannot pass, with reasons. Everything else must, and an entry that
begins to pass, or that no run has needed, fails the run.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
import uvicorn
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks import servers
from tools.conformance_upstream import run_upstream
from tools.databases import ROOT, VAR

SUITE = Path(__file__).parent / "conformance_suite"
EXPECTED_FAILURES = SUITE / "expected_failures.yaml"
INSTALLED = VAR / "conformance"
NPM_OPTIONS = ["--loglevel=error", "--no-audit", "--no-fund"]
START_SECONDS = 120.0
METHODS = ["GET", "POST", "PUT", "DELETE", "OPTIONS"]
NOT_PASSED_ON = frozenset({"connection", "content-length", "transfer-encoding", "accept-encoding"})

# What runs, by the label in the table: the arguments of the suite, and the revision of the protocol. A revision's
# requirements include scenarios that do not count; the last run makes one of them count.
RUNS = {
    "2026-07-28": ["--requirements", "2026-07-28"],
    "2025-11-25": ["--requirements", "2025-11-25"],
    "headers": ["--scenario", "http-header-validation", "--spec-version", "2026-07-28"],
}
FAILED = frozenset({"FAILURE", "WARNING"})  # the suite counts both


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """How one scenario ended: ids of checks, by result."""

    run: str
    name: str
    passed: list[str]
    failed: list[str]
    expected: list[str]  # failed, as expected by expected_failures.yaml

    @property
    def outcome(self) -> str:
        """The text for the table."""
        if self.failed:
            return "FAILED: " + ", ".join(self.failed)
        if self.expected:
            return f"{len(self.expected)} expected to fail"
        return "passed" if self.passed else "not applicable"


def main() -> int:
    """Run the suite, print a table and return the exit code."""
    if shutil.which("npm") is None:
        print("npm is needed to install the conformance suite (Node.js 20 or later).", file=sys.stderr)
        return 1
    node = install_suite()
    expected = read_expected_failures()
    results: list[ScenarioResult] = []
    problems: list[str] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        with (
            run_upstream() as upstream,
            run_gateway(folder, upstream) as (gateway, key),
            forward_with_key(gateway, key) as url,
        ):
            for run, arguments in RUNS.items():
                output = folder / run
                done = run_suite(node, f"{url}/mcp", arguments, output)
                results += read_results(run, output, expected)
                if done.returncode != 0:
                    problems.append(f"{run}: the suite failed:\n{done.stdout[-4_000:]}{done.stderr[-2_000:]}")
    scored = [result for result in results if counts(result)]
    print_table(scored)
    problems += find_unneeded_entries(results, expected)
    if missing := RUNS.keys() - {result.run for result in scored}:
        problems.append(f"Nothing ran for {', '.join(sorted(missing))}.")
    print("\n".join(["", *problems]) if problems else "\nAll applicable checks passed.")
    return 1 if problems or any(result.failed for result in scored) else 0


def install_suite() -> Path:
    """Install the suite and the Node.js that it needs, unless they are installed. Return the program."""
    lock = SUITE / "package-lock.json"
    node = INSTALLED / "node_modules" / ".bin" / "node"
    stamp = INSTALLED / "installed.json"
    if node.exists() and stamp.exists() and stamp.read_text() == lock.read_text():
        return node
    INSTALLED.mkdir(parents=True, exist_ok=True)
    for file in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(SUITE / file, INSTALLED)
    print("Installing the conformance suite into var/conformance", flush=True)
    for command in (["ci", "--ignore-scripts"], ["rebuild", "node"]):  # the script of node fetches the program
        done = subprocess.run(["npm", *command, *NPM_OPTIONS], cwd=INSTALLED, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"npm {command[0]} failed:\n{done.stdout}{done.stderr}")
    stamp.write_text(lock.read_text())
    return node


def read_expected_failures() -> dict[str, frozenset[str]]:
    """Return the checks that are expected to fail, by scenario."""
    entries = [entry.partition(":") for entry in yaml.safe_load(EXPECTED_FAILURES.read_text())["server"]]
    scenarios = {scenario for scenario, _, _ in entries}
    return {name: frozenset(check for scenario, _, check in entries if scenario == name) for name in scenarios}


@contextmanager
def run_gateway(folder: Path, upstream: str) -> Iterator[tuple[str, str]]:
    """Run a gateway with the demo's data and the tools of an MCP server in a folder, and yield its URL and a key."""
    environment = {
        "GATEWAY_ENV": "local",
        "DATABASE_URL": f"sqlite:///{folder / 'db.sqlite3'}",
        "PROMETHEUS_MULTIPROC_DIR": str(folder / "metrics"),
        "AGENTIC_CHAT_TOOL_GATEWAY": "on",
    }

    def manage(*arguments: str) -> str:
        command = [sys.executable, "manage.py", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"manage.py {arguments[0]} failed:\n{done.stdout}{done.stderr}")
        return done.stdout.strip()

    manage("migrate", "--verbosity", "0")
    manage("load_catalog", "--publish")
    manage("load_demo")
    manage("import_ops", upstream, "--format", "mcp", "--group", "suite", "--publish")
    key = manage("create_api_key", "conformance", "--subject", "demo-user", "--rate", "10000")
    with (folder / "gateway.log").open("w") as log:
        python, seconds = sys.executable, START_SECONDS
        with servers.run_server(
            servers.GATEWAY, environment, probe="/readyz", log=log, python=python, start_seconds=seconds
        ) as server:
            host, port = server.address
            yield f"http://{host}:{port}", key


@contextmanager
def forward_with_key(gateway: str, key: str) -> Iterator[str]:
    """Serve a proxy that adds a key to requests for a gateway, and yield its URL. Host and Origin stay as they are."""
    http = httpx2.AsyncClient(trust_env=False, timeout=60)

    async def forward(request: Request) -> Response:
        headers = [(name, value) for name, value in request.headers.raw if name.decode() not in NOT_PASSED_ON]
        headers.append((b"authorization", f"Bearer {key}".encode()))
        url = f"{gateway}{request.url.path}"
        answer = await http.request(request.method, url, headers=headers, content=await request.body())
        kept = {name: value for name, value in answer.headers.items() if name.lower() not in NOT_PASSED_ON}
        return Response(answer.content, status_code=answer.status_code, headers=kept)

    app = Starlette(routes=[Route("/{path:path}", forward, methods=METHODS)])
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise SystemExit("The server in front of the gateway did not start.")
            time.sleep(0.02)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def run_suite(node: Path, url: str, arguments: list[str], output: Path) -> "subprocess.CompletedProcess[str]":
    """Run the suite once. It writes the checks of each scenario into a folder of `output`."""
    program = INSTALLED / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    options = ["--url", url, *arguments, "--expected-failures", str(EXPECTED_FAILURES), "--output-dir", str(output)]
    command = [str(node), str(program), "server", *options]
    return subprocess.run(command, cwd=INSTALLED, capture_output=True, text=True, check=False)


def read_results(run: str, output: Path, expected: dict[str, frozenset[str]]) -> list[ScenarioResult]:
    """Return the results that a run of the suite has written."""
    results = []
    for path in sorted(output.glob("*/checks.json")):
        name = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\d-]+Z$", "", path.parent.name)
        checks = json.loads(path.read_text())
        failed = sorted({check["id"] for check in checks if check["status"] in FAILED})
        allowed = expected.get(name, frozenset())
        results.append(
            ScenarioResult(
                run=run,
                name=name,
                passed=sorted({check["id"] for check in checks if check["status"] == "SUCCESS"} - {*failed}),
                failed=[check for check in failed if check not in allowed],
                expected=[check for check in failed if check in allowed],
            )
        )
    return results


def counts(result: ScenarioResult) -> bool:
    """Return whether a result decides about success: whether the revision requires the scenario."""
    if "--requirements" not in RUNS[result.run]:
        return True
    folder = INSTALLED / "node_modules" / "@modelcontextprotocol" / "conformance" / "requirements"
    return result.name in yaml.safe_load((folder / f"{result.run}.yaml").read_text())["server"]


def find_unneeded_entries(results: list[ScenarioResult], expected: dict[str, frozenset[str]]) -> list[str]:
    """Return a sentence for each expected failure that did not happen in any run."""
    happened = {(result.name, check) for result in results for check in result.expected}
    entries = {(scenario, check) for scenario, checks in expected.items() for check in checks}
    return [
        f"{scenario}:{check} is listed in {EXPECTED_FAILURES.name} and does not fail. Remove it."
        for scenario, check in sorted(entries - happened)
    ]


def print_table(results: list[ScenarioResult]) -> None:
    """Print a line for each scenario, and the counts."""
    width = max((len(result.name) for result in results), default=0)
    print(f"{'run':10}  {'scenario':{width}}  checks  outcome")
    for result in results:
        print(f"{result.run:10}  {result.name:{width}}  {len(result.passed):6}  {result.outcome}")
    for run in RUNS:
        of_run = [result for result in results if result.run == run]
        passed = sum(result.outcome in ("passed", "not applicable") for result in of_run)
        failed = sum(bool(result.failed) for result in of_run)
        checks = sum(len(result.passed) for result in of_run)
        partly = len(of_run) - passed - failed
        print(f"{run}: {passed} passed, {partly} with expected failures, {failed} failed; {checks} checks passed.")


if __name__ == "__main__":
    sys.exit(main())
