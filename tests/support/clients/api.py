"""A client of the API for tests."""

from typing import Any

from django.http import HttpResponse
from django.test import Client as HttpClient

from core.demo_data import DEFAULT_SUBJECT
from gateway.contracts.errors import ErrorCode

EXAMPLE = "example of"  # test property: the op of a shipped example that the test ran


class Api:
    """A client of the API with one key that acts for one subject."""

    def __init__(self, key: str, subject: str = DEFAULT_SUBJECT) -> None:
        self.http = HttpClient()
        self.headers = {"Authorization": f"Bearer {key}"} | ({"Gateway-Subject": subject} if subject else {})

    def post(self, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> HttpResponse:
        """Send a body or raw bytes to /api/v1/<path>. Header names may have underscores."""
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        media_type = sent.pop("Content-Type", "application/json")
        if raw is not None:
            return self.http.generic("POST", f"/api/v1/{path}", raw, media_type, headers=sent)
        return self.http.post(f"/api/v1/{path}", body, content_type=media_type, headers=sent)

    def get(self, path: str, **headers: str) -> HttpResponse:
        """Send a GET to /api/v1/<path>."""
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.get(f"/api/v1/{path}", headers=sent)

    def help(self, path: str = "root", /, **query: Any) -> dict[str, Any]:
        """Request help and return its body. Fails if the request fails."""
        response = self.post("help", query if "query" in query else {"path": path, **query})
        assert response.status_code == 200, response.content
        return response.json()

    def exec(self, op: str, args: Any = None, /, **body: Any) -> dict[str, Any]:
        """Run an op and return the envelope, also of an error."""
        return self.post("exec", {"op": op, "args": args or {}, **body}).json()


SECRET = "canary-7f3a91c0-sent-and-never-returned"


def assert_refused(response: HttpResponse, status: int, reason: str) -> dict[str, Any]:
    """Check status, reason and the common form of an error response, and return its `error`."""
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
