"""A chat service as a test plays it: one key, one end user, the calls of a model."""

from typing import Any

from django.http import HttpResponse
from django.test import Client as HttpClient

from gateway.contracts.errors import ErrorCode
from workspace.demo import DEMO_SUBJECT

EXAMPLE = "example of"  # the property of a test that ran an example of the shipped catalog: its op


class Api:
    """A chat service: one key, one end user, the calls of a model."""

    def __init__(self, key: str, subject: str = DEMO_SUBJECT) -> None:
        self.http = HttpClient()
        self.headers = {"Authorization": f"Bearer {key}"} | ({"Gateway-Subject": subject} if subject else {})

    def post(self, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> HttpResponse:
        """Send a body (or raw bytes) to /api/v1/<path>; header names may be written with underscores."""
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        media_type = sent.pop("Content-Type", "application/json")
        if raw is not None:
            return self.http.generic("POST", f"/api/v1/{path}", raw, media_type, headers=sent)
        return self.http.post(f"/api/v1/{path}", body, content_type=media_type, headers=sent)

    def get(self, path: str, **headers: str) -> HttpResponse:
        """Ask for /api/v1/<path>."""
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.get(f"/api/v1/{path}", headers=sent)

    def help(self, path: str = "root", /, **query: Any) -> dict[str, Any]:
        """Return the body of a help answer that must succeed."""
        response = self.post("help", query if "query" in query else {"path": path, **query})
        assert response.status_code == 200, response.content
        return response.json()

    def exec(self, op: str, args: Any = None, /, **body: Any) -> dict[str, Any]:
        """Return the envelope of an exec, whatever its status."""
        return self.post("exec", {"op": op, "args": args or {}, **body}).json()


SECRET = "canary-7f3a91c0-sent-but-never-told"


def refused(response: HttpResponse, status: int, reason: str) -> dict[str, Any]:
    """Hold an answer against what every error of the API promises, and return its `error`."""
    envelope = response.json()
    text = response.content.decode()
    assert (response.status_code, envelope["error"]["details"]["reason"]) == (status, reason), text
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Gateway-Trace"] == envelope["meta"]["trace_id"]
    assert envelope["ok"] is False
    assert set(envelope) == {"op", "ok", "error", "meta"}
    assert set(envelope["error"]) == {"code", "message", "details", "help_path"}
    assert envelope["error"]["code"] in ErrorCode.values
    assert {"trace_id", "latency_ms", "warnings"} <= set(envelope["meta"])
    assert "Traceback" not in text
    assert SECRET not in text
    error: dict[str, Any] = envelope["error"]
    return error
