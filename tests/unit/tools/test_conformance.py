"""How the runs of the conformance suite of MCP are judged."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx2

from tests.support.servers.processes import PLAIN_HTTP
from tools import conformance

EXPECTED = {"tools": frozenset({"echo"}), "ping": frozenset({"pong"})}


def write_checks(output: Path, scenario: str, **statuses: str) -> None:
    folder = output / f"server-{scenario}-2026-11-25T18-26-45-567Z"
    folder.mkdir(parents=True)
    checks = [{"id": name, "status": status} for name, status in statuses.items()]
    (folder / "checks.json").write_text(json.dumps(checks))


def test_results_tell_expected_failures_from_others(tmp_path: Path) -> None:
    write_checks(tmp_path, "tools", echo="FAILURE", wire="SUCCESS", other="WARNING")
    write_checks(tmp_path, "ping", pong="SUCCESS", note="INFO")
    write_checks(tmp_path, "polling", session="SKIPPED")

    results = conformance.read_results("2026-07-28", tmp_path, EXPECTED)

    outcomes = {result.name: (result.outcome, result.passed) for result in results}
    assert outcomes == {
        "ping": ("passed", ["pong"]),
        "polling": ("not applicable", []),
        "tools": ("FAILED: other", ["wire"]),
    }
    assert conformance.find_unneeded_entries(results, EXPECTED) == [
        "ping:pong is listed in expected_failures.yaml and does not fail. Remove it."
    ]


def test_every_expected_failure_names_a_check_and_has_a_reason() -> None:
    lines = conformance.EXPECTED_FAILURES.read_text().splitlines()
    entries = [line for line in lines if line.startswith("  - ")]

    assert all(line.count(":") >= 1 and " # " in line for line in entries)
    assert sum(map(len, conformance.read_expected_failures().values())) == len(entries)


def test_forwarding_adds_the_key_and_keeps_host_and_origin() -> None:
    seen: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.update({"path": self.path, "body": body, **self.headers})
            self.send_response(403)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"no")

        def log_message(self, *_: Any) -> None:
            return None

    gateway = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=gateway.serve_forever, daemon=True).start()
    try:
        with conformance.forward_with_key(f"http://127.0.0.1:{gateway.server_port}", "gw_key") as url:
            headers = {"Host": "evil.example", "Origin": "http://evil.example"}
            answer = httpx2.post(f"{url}/mcp", content=b"{}", headers=headers, **PLAIN_HTTP)
    finally:
        gateway.shutdown()
        gateway.server_close()

    assert (answer.status_code, answer.text) == (403, "no")
    assert (seen["path"], seen["body"], seen["authorization"]) == ("/mcp", b"{}", "Bearer gw_key")
    assert (seen["host"], seen["origin"]) == ("evil.example", "http://evil.example")
