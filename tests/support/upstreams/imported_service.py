"""Import a document with the command, publish it, and call its ops: what reaches the service is recorded."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command

from core.background import poller
from core.http import client
from registry.models import Connection, Op
from tests.support.clients.api import Api
from tests.support.upstreams import any_upstream
from tests.support.upstreams.http_servers import Server, build_response

GROUP = "svc"


@dataclass
class Received:
    """One request as the service got it."""

    target: str  # GET /pets?limit=2
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def __str__(self) -> str:
        return self.target


@dataclass
class ImportedService:
    """A service that answers `answer`, and the ops of its document."""

    api: Api
    folder: Path
    capsys: pytest.CaptureFixture[str]
    output: str = ""
    files: int = 0
    answer: Any = field(default_factory=lambda: {"ok": True})

    def __post_init__(self) -> None:
        self.server = Server(lambda _: build_response(orjson.dumps(self.answer), Content_Type="application/json"))

    def load(self, document: Any, *, format: str = "openapi", publish: bool = True, **options: Any) -> str:
        """Import a document (text, or a value that is written as JSON) and publish it. Return what the command says."""
        text = document if isinstance(document, str) else json.dumps(document)
        self.files += 1
        file = self.folder / f"document{self.files}.{'json' if text.lstrip()[:1] in '{[' else 'yaml'}"
        file.write_text(text, encoding="utf-8")
        command = ["import_ops", str(file), "--format", format, "--group", GROUP]
        if format == "openapi":
            command += ["--base-url", options.pop("base_url", self.server.url("").rstrip("/"))]
        error = ""
        try:
            call_command(*command, publish=publish and format == "openapi", **options)
        except CommandError as problem:
            error = str(problem)
        if publish and format != "openapi":
            any_upstream.connect_ops()
            with suppress(CommandError):
                call_command(*command, publish=True)
        poller.refresh()
        self.output = self.capsys.readouterr().out + error
        return self.output

    @property
    def ops(self) -> dict[str, str]:
        """Return {METHOD path: op} of the active ops."""
        rows = Op.objects.filter(source=GROUP, status=Op.Status.ACTIVE)
        return {(row.shipped or {}).get("upstream_name") or row.tool_name: row.op for row in rows}

    def exec(self, args: dict[str, Any], op: str = "", **body: Any) -> Any:
        """Call an op, or the only one, and return the envelope."""
        return self.api.post("exec", {"op": op or self._get_only(), "args": args, **body}).json()

    def send(self, args: dict[str, Any], op: str = "", **body: Any) -> Received:
        """Call an op, or the only one, and return the request that it sent. It must succeed."""
        answer = self.exec(args, op, **body)
        assert answer["ok"], answer["error"]
        return self.last

    def refuse(self, args: dict[str, Any], op: str = "") -> str:
        """Call an op whose args are refused, and return the messages. Nothing must be sent."""
        count = len(self.server.requests)
        answer = self.exec(args, op)
        assert not answer["ok"], self.last.target
        assert len(self.server.requests) == count
        fields = answer["error"]["details"].get("field_errors", ())
        return " ".join([answer["error"]["message"], *(each["message"] for each in fields)])

    @property
    def last(self) -> Received:
        head, _, body = self.server.requests[-1].partition(b"\r\n\r\n")
        line, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)}
        return Received(line.removesuffix(" HTTP/1.1"), headers, body)

    def help(self, op: str = "", **query: Any) -> Any:
        return self.api.help(op or self._get_only(), **query)

    def get_connection(self) -> Connection:
        return Connection.objects.get(name=GROUP)

    def _get_only(self) -> str:
        assert len(self.ops) == 1, self.output
        return next(iter(self.ops.values()))


@pytest.fixture
def imported_service(
    live_catalog: object, api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[ImportedService]:
    """Start the service. It stops after the test."""
    imported = ImportedService(api, tmp_path, capsys)
    yield imported
    client.close_idle_connections()
    imported.server.stop()
