"""A client of the gateway's API for one turn of one subject."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings

from chat.gateway import envelopes
from core import http, tracing
from core.database.deadlines import Deadline, DeadlineExceeded

CONTEXT = "context"  # the purpose of what the chat reads for itself
MAX_BYTES = 8_000_000  # of an answer
MAX_RETRIES = 2
RETRY_SECONDS = 0.2  # doubles with each retry
MAX_WAIT_SECONDS = 3.0  # that the gateway may ask for
UPLOAD_SECONDS = 60.0
CHECK_SECONDS = 5.0  # for the check of a key; a busy machine may take a few


class GatewayUnavailable(Exception):
    """The gateway cannot be reached, or its answer is not JSON."""


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """The API key of the calling service, and the user that it speaks for."""

    key: str
    subject: str


@dataclass(frozen=True, slots=True, repr=False)
class GatewayAnswer:
    """An answer with any status. `hint` is the gateway's sentence for a model that loops."""

    status: int
    body: dict[str, Any]
    hint: str
    retry_after: int | None = None  # seconds


class GatewayRefused(Exception):
    """The gateway refuses what the turn cannot do without. `envelope` says why."""

    def __init__(self, answer: GatewayAnswer) -> None:
        super().__init__(f"status {answer.status}")
        self.status = answer.status
        self.envelope: Mapping[str, Any] = answer.body
        self.retry_after = answer.retry_after

    @property
    def message(self) -> str:
        """What the gateway says."""
        return str(envelopes.get_error(self.envelope).get("message", "The gateway refuses the call."))


class GatewayClient:
    """Calls the gateway. Every call can be sent again: reads change nothing, and writes have an idempotency key.

    If the gateway is unavailable or busy, a call is retried twice, as long as there is time. Raises GatewayUnavailable
    if the gateway does not answer the last try.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        session: str = "",
        turn: str = "",
        context: str = "",
        model: str = "",
    ) -> None:
        self._headers = {
            "authorization": f"Bearer {credentials.key}",
            "content-type": "application/json",
            "accept": "application/json",
            "gateway-subject": credentials.subject,
            "gateway-confirm": "ask",  # the chat asks its users, whatever the client of a service's key is set to
        }
        optional = {
            "gateway-session": session,
            "gateway-turn": turn,
            "gateway-context": context,
            "gateway-model": model,
        }
        self._headers |= {name: value for name, value in optional.items() if value}

    def copy_for_agent(self, agent: str) -> "GatewayClient":
        """Return a client that calls as an agent, which the gateway holds to its ops."""
        copy = GatewayClient.__new__(GatewayClient)
        copy._headers = {**self._headers, "gateway-agent": agent}
        copy._headers.pop("gateway-toolset", None)
        return copy

    def use_toolset(self, toolset_id: str) -> None:
        """Send a toolset's id with each later call, so that the turn stays on its surface and release."""
        self._headers["gateway-toolset"] = toolset_id

    def use_context(self, context: str) -> None:
        """Send another Gateway-Context with each later call."""
        self._headers["gateway-context"] = context

    def fetch_toolset(self, message: str, conversation: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what to show the model. `conversation` has messages, recent_tools and rows. Raises GatewayRefused."""
        body = {"format": "openai", "message": message[:20_000], **(conversation or {})}
        return self._require("POST", "toolset", body)

    def fetch(self, path: str) -> dict[str, Any]:
        """Return what a GET below /api/v1/ answers. Raises GatewayRefused."""
        return self._require("GET", path, None)

    def escalate_toolset(self, toolset_id: str, missing_tool: str) -> dict[str, Any] | None:
        """Return a wider toolset, or None if there is nothing wider."""
        answer = self.call("POST", f"toolset/{toolset_id}/escalate", {"missing_tool": missing_tool[:200]}, seconds=10)
        return answer.body if answer.status == 200 else None

    def load_context(self, entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Run the chat's own reads in parallel and return their results in order. Raises GatewayRefused."""
        body = {"ops": list(entries), "mode": "parallel"}
        results: list[dict[str, Any]] = self._require("POST", "batch", body, purpose=CONTEXT)["results"]
        return results

    def send_telemetry(self, report: Mapping[str, Any]) -> GatewayAnswer:
        """Report how a turn went."""
        return self.call("POST", "telemetry", report, seconds=5)

    def send_feedback(self, feedback: Mapping[str, Any]) -> None:
        """Pass on what the user thinks of a turn. Raises GatewayRefused."""
        self._require("POST", "feedback", feedback)

    def check_access(self) -> None:
        """Return if the key is valid, may speak for the subject and has the scope of turns. Raises GatewayRefused.

        It sends a report without fields, which passes the same checks before it is refused. Nothing is stored.
        """
        answer = self.call("POST", "telemetry", {}, seconds=CHECK_SECONDS)
        if envelopes.get_reason(answer.body) != "malformed_call":
            raise GatewayRefused(answer)

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        seconds: float,
        confirmation: str = "",
        purpose: str = "",
        retries: int = MAX_RETRIES,
        in_background: bool = False,
    ) -> GatewayAnswer:
        """Call an endpoint below /api/v1/ and return its answer, whatever its status.

        `purpose` is CONTEXT for what the chat reads for itself, so that no report takes it for the model's call. Send
        without `retries` what works only once. `in_background`: the gateway may answer 202 with a batch of the call.
        """
        headers = {**self._headers, **tracing.build_headers()}
        if confirmation:
            headers["gateway-confirm"] = confirmation
        if purpose:
            headers["gateway-purpose"] = purpose
        if in_background:
            headers["prefer"] = "respond-async"
        content = orjson.dumps(body) if body is not None else None
        return self._send(method, path, headers, content, seconds=seconds, retries=retries)

    def send_file(self, content: bytes, *, content_type: str, disposition: str) -> GatewayAnswer:
        """Store a file for the subject, and return the gateway's answer, whatever its status."""
        headers = self._headers | {"content-type": content_type, "content-disposition": disposition}
        return self._send("POST", "files", headers, content, seconds=UPLOAD_SECONDS)

    def fetch_connect_link(self) -> str:
        """Return a link to the page of the subject's keys and sign-ins. It opens once. Raises GatewayRefused."""
        return str(self._require("GET", "connect-link", None)["url"])

    def _send(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        content: bytes | None,
        *,
        seconds: float,
        retries: int = MAX_RETRIES,
    ) -> GatewayAnswer:
        url = f"{settings.CHAT_GATEWAY_URL}/api/v1/{path}"
        deadline = Deadline.after(milliseconds=int(seconds * 1000))
        for retry in range(retries + 1):
            pause = RETRY_SECONDS * (1 << retry)
            response: http.Response | None = None
            try:
                response = http.call_api(
                    method, url, headers=headers, body=content, deadline=deadline, max_bytes=MAX_BYTES
                )
            except (http.OutgoingError, DeadlineExceeded) as error:
                problem = type(error).__name__
            else:
                wait = _read_wait(response)
                if wait is None or wait > MAX_WAIT_SECONDS:
                    break
                pause = wait
            if retry == retries or time.monotonic() + pause >= deadline.at:
                break
            time.sleep(pause)
        if response is None:
            raise GatewayUnavailable(problem)
        return _parse_answer(response)

    def _require(self, method: str, path: str, body: Mapping[str, Any] | None, *, purpose: str = "") -> dict[str, Any]:
        answer = self.call(method, path, body, seconds=15, purpose=purpose)
        if answer.status != 200:
            raise GatewayRefused(answer)
        return answer.body


def _read_wait(response: http.Response) -> float | None:
    """Return the seconds after which the same call may succeed. None if it was answered for good."""
    if response.status not in (429, 502, 503, 504):
        return None
    retry_after = response.headers.get("retry-after", "")
    if response.status == 503 and not retry_after:
        return None  # something is not configured
    return float(retry_after) if retry_after.isdigit() else RETRY_SECONDS


def _parse_answer(response: http.Response) -> GatewayAnswer:
    try:
        body = orjson.loads(response.body) if response.body else {}
        if rb"\u0000" in response.body:
            body = _remove_nul(body)
    except orjson.JSONDecodeError:
        raise GatewayUnavailable(f"status {response.status}, not JSON") from None
    if not isinstance(body, dict):
        raise GatewayUnavailable(f"status {response.status}, not a JSON object")
    retry_after = response.headers.get("retry-after", "")
    hint = response.headers.get("gateway-hint", "")
    return GatewayAnswer(response.status, body, hint, int(retry_after) if retry_after.isdigit() else None)


def _remove_nul(value: Any) -> Any:
    """Return an answer without NUL, which an upstream may send and PostgreSQL does not store."""
    if isinstance(value, str):
        return value.replace("\0", "")
    if isinstance(value, list):
        return [_remove_nul(each) for each in value]
    if isinstance(value, dict):
        return {_remove_nul(name): _remove_nul(each) for name, each in value.items()}
    return value
